import type { Cases, Judge } from './case.ts';
import { fuzzCredentials } from './credentials.ts';
import { fuzzFiles } from './files.ts';
import { fuzzFrames } from './frames.ts';
import { fuzzHeaders } from './headers.ts';
import { type Keyring, makeKeyring } from './keyring.ts';
import { fuzzOverNode } from './over-node.ts';

type Kind = (cases: Cases, ring: Keyring, judge: Judge) => Promise<void>;

const KINDS: Readonly<Record<string, { readonly count: number; readonly full: number; readonly run: Kind }>> =
  {
    headers: { count: 5_000, full: 100_000, run: fuzzHeaders },
    frames: { count: 5_000, full: 100_000, run: (cases, _ring, judge) => fuzzFrames(cases, judge) },
    credentials: { count: 5_000, full: 100_000, run: fuzzCredentials },
    files: { count: 5_000, full: 100_000, run: fuzzFiles },
    // What the others show in one process, again over sockets to another.
    node: { count: 1_000, full: 20_000, run: fuzzOverNode },
  };

export const EDGE_KINDS = Object.keys(KINDS);

/** Everything at the edge that is not a body: headers, frames, credentials and files, each so often as asked for. */
export async function fuzzEdge(
  seed: number,
  options: Readonly<Record<string, string | boolean | undefined>>,
  judge: Judge,
): Promise<void> {
  const ring = makeKeyring(seed);
  for (const [name, { count, full, run }] of Object.entries(KINDS)) {
    const asked = Number(options[name] ?? (options['full'] === true ? full : count));
    const cases = { seed, first: Number(options['from']), count: asked };
    const started = performance.now();
    if (asked > 0) {
      await run(cases, ring, (fault, what) => judge(fault, () => `${name}, ${what()}`));
      console.log(`${name} done after ${Math.round((performance.now() - started) / 1_000)} s`);
    }
  }
}
