import { expect, it } from 'vitest';
import type { FollowEvent } from './events.ts';
import { Pruning, type PruningModules } from './pruning.ts';

/** The last of twelve fields; those before it are empty. */
const headerOf = (timestamp: number): Uint8Array =>
  Buffer.concat([
    Buffer.of(0xd0),
    Buffer.alloc(11, 0x80),
    Buffer.of(0x84),
    Buffer.from(timestamp.toString(16).padStart(8, '0'), 'hex'),
  ]);

function begin(
  history: { readonly blocks: number; readonly ms: number },
  timeOf: (number: number) => number,
) {
  const events: FollowEvent[] = [];
  let lowest = 0;
  const ref = (number: number) => ({ number, hash: `0x${number.toString(16)}` }) as const;
  const marks = { head: ref(10_000), anchor: ref(0), safe: undefined, finalized: undefined };
  const store: PruningModules['store'] = {
    marks: () => ({ ...marks, lowest: ref(lowest) }),
    undoFloor: () => 9_500,
    canonicalHash: () => '0x',
    header: ({ number }) => headerOf(timeOf(number)),
    prune: async (below) => {
      lowest = Math.max(lowest, below);
      return false;
    },
  };
  const pruning = new Pruning(
    { history, pruneRows: 100 },
    {
      ...{ store, blockTime: { ms: () => 200 }, publish: async () => {} },
      observe: (event) => void events.push(event),
    },
  );
  const steps = async (): Promise<number> => {
    for (let left = 3; left > 0; left--) await pruning.step();
    return lowest;
  };
  return { steps, events };
}

it('keeps a time of history, and nothing that is younger goes because blocks came slower before (B18)', async () => {
  const even = begin({ blocks: 0, ms: 600_000 }, (number) => 1_700_000_000 + number / 5);
  expect(await even.steps()).toBe(7_000);
  const slower = begin({ blocks: 0, ms: 600_000 }, (number) => 1_700_000_000 + Math.max(0, number - 9_900));
  expect(await slower.steps()).toBe(0);
});

it('keeps blocks, and all that can be taken back', async () => {
  const even = (number: number): number => 1_700_000_000 + number / 5;
  expect(await begin({ blocks: 2_000, ms: 0 }, even).steps()).toBe(8_000);
  expect(await begin({ blocks: 2_000, ms: 600_000 }, even).steps()).toBe(7_000);
  expect(await begin({ blocks: 10, ms: 0 }, even).steps()).toBe(9_500);
});
