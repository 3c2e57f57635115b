import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Store } from '../../../src/store/interface.ts';
import { createMemoryStore } from '../../../src/store/memory/index.ts';
import { createRandom, makeChain, randomContent } from './contract-chain.ts';
import { describeChain } from './contract-observe.ts';
import { StorePair } from './contract-pair.ts';

/** A store under test. `reopen` is left out by drivers that keep nothing. */
export interface Subject {
  readonly store: Store;
  readonly reopen?: () => Promise<Store>;
  dispose(): Promise<void>;
}

export type OpenSubject = (options: { readonly undoWindow: number }) => Promise<Subject>;

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** The random half of the contract: against a store that never saw the blocks, and against the model. */
export function describeRandomContract(open: OpenSubject): void {
  it(`after a revert is as if the blocks had never been (seed ${seed})`, {
    timeout: 60_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 8 }), async (salt, depth) => {
        const reverted = await open({ undoWindow: 8 });
        const plainOne = await open({ undoWindow: 8 });
        try {
          const random = createRandom(salt);
          const contents = Array.from({ length: 6 + depth }, () => randomContent(random));
          const chain = makeChain(undefined, contents);
          await plainOne.store.append(chain.slice(0, 6));
          await reverted.store.append(chain);
          await reverted.store.revertTo(5);
          expect(await describeChain(reverted.store)).toEqual(await describeChain(plainOne.store));
        } finally {
          await reverted.dispose();
          await plainOne.dispose();
        }
      }),
      { numRuns: 10, seed },
    );
  });

  it(`agrees with the model over random changes and queries (seed ${seed})`, {
    timeout: 60_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (salt) => {
        const random = createRandom(salt);
        const undoWindow = 1 + random(40);
        const tested = await open({ undoWindow });
        const model = createMemoryStore({ undoWindow });
        try {
          const pair = new StorePair(tested.store, model, random);
          await pair.start();
          for (let step = 0; step < 24; step++) {
            await pair.step();
            await pair.compareQuery();
          }
          await pair.compareState();
        } finally {
          await tested.dispose();
        }
      }),
      { numRuns: 5, seed, endOnFailure: true },
    );
  });
}
