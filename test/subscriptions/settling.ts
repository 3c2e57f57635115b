import { until } from '../support/servers/process.ts';
import { type HeldLogs, hashless, type SentLog } from './held-logs.ts';
import type { ReadBacks } from './reading.ts';

interface Settling {
  readonly options: { readonly kind: 'logs' | 'pendingLogs'; readonly complete: number };
  readonly held: HeldLogs;
  readonly readBacks: ReadBacks;
  readonly report: (problem: string) => void;
}

/** Waits until a client holds just what it should and no read is open; reports if it does not come to that. */
export async function settled(
  { options, held: logs, readBacks, report }: Settling,
  expected: () => Promise<readonly SentLog[]>,
  deadlineMs: number,
): Promise<void> {
  const { kind, complete } = options;
  const normal = kind === 'logs' ? (log: SentLog): string => JSON.stringify(log) : hashless;
  const textOf = (sent: readonly SentLog[]): string => sent.map(normal).join('\n');
  let [held, wanted] = ['', ''];
  const isSo = async (): Promise<true | undefined> => {
    // Asked each time: when streams pause for too long, our node drops what was pre-confirmed.
    wanted = textOf(await expected());
    held = textOf(logs.from(complete));
    await readBacks.settled();
    return held === wanted && !readBacks.areOpen ? true : undefined;
  };
  await until('all messages', isSo, deadlineMs).catch(() => {
    if (held !== wanted) report(`it does not hold what eth_getLogs gives: ${difference(held, wanted)}`);
  });
  readBacks.finish();
}

/** Where two lists of lines part. */
function difference(held: string, wanted: string): string {
  const [ours, theirs] = [held.split('\n'), wanted.split('\n')];
  const at = theirs.findIndex((line, index) => ours[index] !== line);
  const first = at < 0 ? theirs.length : at;
  return `${ours.length} for ${theirs.length}, from number ${first} on:\nheld   ${ours[first]}\nwanted ${theirs[first]}`;
}
