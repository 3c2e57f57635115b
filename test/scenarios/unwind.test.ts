// Blocks are taken off and put on again at random points; after each step everything must be as if it had never
// happened. The truth is one run from genesis to the head that never went back.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/chain/outcome.ts';
import { readHeader } from '../../src/executor/native-executor.ts';
import {
  LAST,
  learnTruth,
  openLmdb,
  openMemory,
  type Step,
  type Truth,
  UnwindingNode,
} from './unwinding-node.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const runs = Number(process.env['UNWIND_RUNS'] ?? 12);

const block = fc.nat({ max: LAST });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('revert'), to: fc.oneof(block, fc.constant(0)) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('apply'),
      to: fc.oneof(block, fc.constant(LAST)),
      batch: fc.integer({ min: 1, max: 20 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('restart'),
      window: fc.integer({ min: 20, max: 60 }),
      entries: fc.constantFrom(768, 100_000),
    }),
  },
);

describe.each([
  ['lmdb', openLmdb, runs],
  ['memory', openMemory, Math.ceil(runs / 3)],
] as const)(`unwinding on %s (TEST_SEED=${seed})`, (_, open, numRuns) => {
  let truth: Truth;
  beforeAll(async () => {
    truth = await learnTruth();
  });

  it('verifies all 54 blocks, unwinds to genesis, and gives the same bytes again', async () => {
    const subject = await open();
    try {
      const node = await UnwindingNode.atGenesis(truth, subject);
      await node.applyTo(LAST, 7);
      await node.expectTruth([1, 27, 53]);
      await node.revertTo(0);
      await node.expectTruth([]);
      await node.applyTo(LAST, 64);
      await node.expectTruth(truth.outcomes.map(({ number }) => number));
    } finally {
      await subject.close();
    }
  });

  it('is as if it had never gone back, at random points', async () => {
    const sequence = fc.array(step, { minLength: 1, maxLength: 7, size: 'max' });
    const probes = fc.array(block, { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(sequence, probes, async (steps, blocks) => {
        const subject = await open();
        try {
          const node = await UnwindingNode.atGenesis(truth, subject);
          await node.applyTo(LAST, 16);
          for (const each of steps) {
            await node.take(each);
            await node.expectTruth(blocks);
          }
        } finally {
          await subject.close();
        }
      }),
      { seed, numRuns },
    );
  });

  it('refuses a wrong state root after a revert, and names it', async () => {
    const subject = await open();
    try {
      const node = await UnwindingNode.atGenesis(truth, subject);
      await node.applyTo(LAST, 16);
      for (const number of [53, 30, 10, 1, 0]) {
        await node.revertTo(number);
        const next = truth.outcomes[number + 1];
        if (next === undefined) throw new Error('no next block');
        await expect(node.execute(withOtherStateRoot(next))).rejects.toThrow(/state root/);
        await node.expectTruth([]);
      }
    } finally {
      await subject.close();
    }
  });
});

/** The same block with one bit of its header's state root turned. */
function withOtherStateRoot({ block: rlp, header }: Outcome): Uint8Array {
  const changed = Buffer.from(rlp);
  const root = Buffer.from(readHeader(header).stateRoot.slice(2), 'hex');
  const at = changed.indexOf(root);
  changed[at] = (changed[at] ?? 0) ^ 1;
  return changed;
}

afterAll(() => {
  console.log(`unwind: TEST_SEED=${seed} runs this again, UNWIND_RUNS=${runs} sets how often`);
});
