import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { StateKey } from '../chain/state-key.ts';
import { address, createRandom, makeChain, randomContent, topic, word } from './contract-chain.ts';
import { bytes, describeChain, plain, readAll } from './contract-observe.ts';
import type { LogQuery, Store } from './interface.ts';
import { createMemoryStore } from './memory/index.ts';

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
  it(`after a revert is as if the blocks had never been (seed ${seed})`, async () => {
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

  it(`agrees with the model over random appends, reverts and queries (seed ${seed})`, {
    timeout: 60_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (salt) => {
        const random = createRandom(salt);
        const undoWindow = 1 + random(40);
        const tested = await open({ undoWindow });
        const model = createMemoryStore({ undoWindow });
        try {
          await compare(tested.store, model, random);
        } finally {
          await tested.dispose();
        }
      }),
      { numRuns: 5, seed },
    );
  });
}

async function compare(tested: Store, model: Store, random: (below: number) => number): Promise<void> {
  for (let step = 0; step < 14; step++) {
    const marks = await model.marks();
    if (marks !== undefined && random(4) === 0) {
      const number = Math.max(0, marks.head.number - random(12));
      const [a, b] = await Promise.allSettled([tested.revertTo(number), model.revertTo(number)]);
      expect(a.status).toBe(b.status);
      continue;
    }
    // Now and then a long append, so that buckets close inside and between appends.
    const length = random(3) === 0 ? 200 + random(500) : 1 + random(20);
    const chain = makeChain(
      marks?.head,
      Array.from({ length }, () => randomContent(random)),
    );
    await tested.append(chain);
    await model.append(chain);
    expect(await tested.marks()).toEqual(await model.marks());
    for (let count = 0; count < 6; count++) await compareQuery(tested, model, random);
  }
  const head = (await model.marks())?.head.number ?? 0;
  const number = random(head + 1);
  expect((await readAll(tested.scanState(number))).map(plain)).toEqual(
    (await readAll(model.scanState(number))).map(plain),
  );
}

async function compareQuery(tested: Store, model: Store, random: (below: number) => number): Promise<void> {
  const head = (await model.marks())?.head.number ?? 0;
  const values = <T>(make: () => T): T[] => Array.from({ length: [0, 1, 1, 2, 5][random(5)] ?? 0 }, make);
  const query: LogQuery = {
    addresses: values(() => address(random(2) === 0 ? 7 : random(20))),
    topics: Array.from({ length: random(4) }, () =>
      values(() => (random(2) === 0 ? topic(random(14)) : word(random(14)))),
    ),
  };
  const from = random(3) === 0 ? 0 : random(head + 1);
  const to = random(3) === 0 ? head : from + random(head - from + 1);
  const found = async (store: Store) =>
    (await readAll(store.findLogs(query, from, to))).map((match) => [
      match.block.number,
      match.block.hash,
      match.indexes,
    ]);
  expect(await found(tested)).toEqual(await found(model));

  const keys: StateKey[] = Array.from({ length: 8 }, () =>
    random(2) === 0
      ? { kind: 'account', address: address(random(7)) }
      : { kind: 'slot', address: address(random(7)), slot: word(random(5)) },
  );
  const number = random(head + 1);
  expect((await tested.loadState(keys, number)).map(bytes)).toEqual(
    (await model.loadState(keys, number)).map(bytes),
  );
}
