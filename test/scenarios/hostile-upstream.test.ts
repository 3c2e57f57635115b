// Upstreams that are made to hurt a node: blocks that never end, answers that say nothing, JSON that explodes.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TempDir, tempDir, until } from '../support/servers/process.ts';
import { callOnce, get, type Serving, startServing } from '../support/servers/serving.ts';
import {
  loopingDeposit,
  type MadeBlock,
  MadeUpstream,
  type Manner,
  madeConfig,
  makeBlock,
} from './made-upstream.ts';

let dir: TempDir;
let chain: string;
beforeAll(async () => {
  dir = await tempDir('hostile');
  chain = join(dir.path, 'genesis.json');
  await writeFile(chain, JSON.stringify({ config: madeConfig }));
});
afterAll(() => dir[Symbol.asyncDispose]());

const GAS_CEILING = 20_000_000_000n;
let folders = 0;

interface Ready {
  readonly ready: boolean;
  readonly reasons?: readonly { readonly reason: string; readonly detail: string }[];
  readonly head: { readonly number: number; readonly hash: string };
  readonly lag: { readonly blocks: number };
}

async function readiness(node: Serving): Promise<Ready> {
  return JSON.parse((await get(`${node.adminUrl}/readyz`)).text) as Ready;
}

function follow(upstreams: readonly MadeUpstream[], args: readonly string[] = []): Promise<Serving> {
  const urls = upstreams.flatMap(({ url }) => ['--upstream', url]);
  const pace = ['--upstream-poll-ms', '50', '--threads', '1', '--log-level', 'info'];
  folders += 1;
  const data = join(dir.path, `data-${folders}`);
  return startServing(data, { args: [...urls, '--chain', chain, ...pace, ...args] });
}

async function reaches(node: Serving, { number, hash }: MadeBlock): Promise<void> {
  await until(`block ${Number(number)}`, async () => {
    const { ready, head } = await readiness(node);
    return ready && head.hash === hash ? true : undefined;
  });
}

const says = (node: Serving, words: RegExp): Promise<true> =>
  until(`/readyz to say ${words}`, async () => {
    const { reasons = [] } = await readiness(node);
    return reasons.some(({ detail }) => words.test(detail)) ? true : undefined;
  });

/** A block on the upstream's head whose only transaction loops. */
function endless(upstream: MadeUpstream, gasUsed: bigint, gasLimit = GAS_CEILING): MadeBlock {
  return makeBlock(upstream.head, [loopingDeposit(gasLimit)], { gasLimit, gasUsed });
}

it('answers while a block executes that would take long, and stops when it is told to', async () => {
  await using upstream = await MadeUpstream.start();
  await using node = await follow([upstream]);
  upstream.add();
  await reaches(node, upstream.head);
  // It claims all of the gas that a block may have, and uses it.
  upstream.add(endless(upstream, GAS_CEILING));
  await until('it to be begun with', async () =>
    (await readiness(node)).lag.blocks === 1 ? true : undefined,
  );
  let longest = 0;
  const end = performance.now() + 2_000;
  while (performance.now() < end) {
    const started = performance.now();
    // Both need the main thread: one is answered by it, the other asks it for state that nobody knows.
    await readiness(node);
    const address = `0x${Math.floor(started * 1_000)
      .toString(16)
      .padStart(40, '0')}`;
    const { body } = await callOnce(node.publicUrl, 'eth_getTransactionCount', [address, 'latest']);
    expect(body).toMatchObject({ result: '0x0' });
    longest = Math.max(longest, performance.now() - started);
  }
  console.log(`the longest wait for two answers: ${longest.toFixed(1)} ms`);
  // It was executed all the time.
  expect(node.running.output()).not.toContain('the head cannot be reached now');
  expect(longest).toBeLessThan(1_000);
  const asked = performance.now();
  node.running.signal('SIGTERM');
  expect(await node.running.exited).toBe(0);
  console.log(`ended ${(performance.now() - asked).toFixed(0)} ms after SIGTERM`);
});

it('follows another upstream past a block that is out of all bounds, and calls nobody a liar for it', async () => {
  await using upstream = await MadeUpstream.start();
  await using node = await follow([upstream]);
  await reaches(node, upstream.head);
  const before = upstream.head;
  upstream.add(endless(upstream, 1_000n, 2n ** 63n - 1n));
  await says(node, /--max-block-gas/);
  // It has become reasonable.
  upstream.add(makeBlock(before));
  await reaches(node, upstream.head);
  expect(node.running.output()).not.toContain('an upstream lied');
});

it('goes on with an honest upstream while another names blocks that take too long', async () => {
  await using hostile = await MadeUpstream.start();
  await using honest = await MadeUpstream.start();
  await using node = await follow(
    [hostile, honest],
    ['--block-time-limit-ms', '300', '--max-block-gas', '100000000'],
  );
  for (const upstream of [hostile, honest]) upstream.add();
  await reaches(node, honest.head);
  hostile.add(endless(hostile, 100_000_000n, 2n ** 40n));
  await until('it to be given up', () => (/--max-block-gas/.test(node.running.output()) ? true : undefined));
  for (let count = 0; count < 5; count++) {
    honest.add();
    // Each on the last of ours, so that it would be gone to.
    hostile.add(
      makeBlock(honest.head, [loopingDeposit(2n ** 40n)], { gasLimit: 2n ** 40n, gasUsed: 1_000n }),
    );
    await until('the honest head', async () =>
      (await readiness(node)).head.hash === honest.head.hash ? true : undefined,
    );
  }
  const refusals = node.running.output().match(/--max-block-gas/g) ?? [];
  expect(refusals.length).toBeLessThan(5);
});

it('refuses a block that uses more gas than it says, and bans nobody: its rules may be too old (B16)', async () => {
  await using liar = await MadeUpstream.start();
  await using node = await follow([liar]);
  await reaches(node, liar.head);
  const before = liar.head;
  liar.add(endless(liar, 21_000n));
  await says(node, /is refused by the rules used here: .*its transactions use more/);
  // It has become reasonable, and is followed at once.
  liar.add(makeBlock(before));
  await reaches(node, liar.head);
  expect(node.running.output()).not.toContain('an upstream lied');
});

it('goes on with an honest upstream while another names blocks that its rules refuse (B16)', async () => {
  await using liar = await MadeUpstream.start();
  await using honest = await MadeUpstream.start();
  await using node = await follow([liar, honest], ['--leader-hysteresis', '1s']);
  for (const upstream of [liar, honest]) upstream.add();
  await reaches(node, honest.head);
  for (let count = 0; count < 5; count++) {
    // Another one each time, on the last of ours.
    liar.add(
      makeBlock(honest.head, [loopingDeposit(GAS_CEILING)], {
        gasLimit: GAS_CEILING,
        gasUsed: 21_000n + BigInt(count),
      }),
    );
    honest.add();
    await until('the honest head', async () =>
      (await readiness(node)).head.hash === honest.head.hash ? true : undefined,
    );
  }
  expect(node.running.output()).not.toContain('rules used here are too old');
  expect(node.running.output()).not.toContain('an upstream lied');
});

it.each<Manner>(['nulls', 'absurd', 'false number'])(
  'is not ready while its upstream answers with %s, and is again afterwards',
  async (manner) => {
    await using upstream = await MadeUpstream.start();
    await using node = await follow([upstream], ['--ready-confirmed-ms', '2000']);
    upstream.add();
    await reaches(node, upstream.head);
    upstream.manner = manner;
    await until('/readyz to say so', async () => ((await readiness(node)).ready ? undefined : true), 10_000);
    upstream.manner = 'honest';
    // The same head as before is enough.
    await reaches(node, upstream.head);
    upstream.add();
    await reaches(node, upstream.head);
  },
);

it('stays ready while nothing happens on its chain', async () => {
  await using upstream = await MadeUpstream.start();
  await using node = await follow([upstream], ['--ready-confirmed-ms', '1000']);
  await reaches(node, upstream.head);
  const end = performance.now() + 4_000;
  while (performance.now() < end) expect((await readiness(node)).ready).toBe(true);
});

it('does not take the memory that deep JSON would', async () => {
  await using upstream = await MadeUpstream.start();
  await using node = await follow([upstream]);
  await reaches(node, upstream.head);
  const megabytes = async (): Promise<number> => {
    const status = await readFile(`/proc/${node.running.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1_024;
  };
  const before = await megabytes();
  upstream.manner = 'deep';
  await until('it to be refused', () => (/nests too deep/.test(node.running.output()) ? true : undefined));
  upstream.manner = 'honest';
  upstream.add();
  await reaches(node, upstream.head);
  const grown = (await megabytes()) - before;
  console.log(`the most memory it had grew by ${grown.toFixed(0)} MB`);
  expect(grown).toBeLessThan(500);
});
