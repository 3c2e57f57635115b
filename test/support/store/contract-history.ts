import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/chain/outcome.ts';
import type { StateKey } from '../../../src/chain/state-key.ts';
import type { Store } from '../../../src/store/interface.ts';
import {
  address,
  createRandom,
  makeChain,
  makeOutcome,
  randomContent,
  refOf,
  word,
} from './contract-chain.ts';
import { bytes, describeChain, readAll } from './contract-observe.ts';
import type { OpenSubject, Subject } from './contract-random.ts';

const everything = { addresses: [], topics: [] };
const ofSeven = { addresses: [address(7)], topics: [] };

/** What a store promises about blocks below its anchor, and about those that it forgets. */
export function describeHistoryContract(open: OpenSubject): void {
  describe('with history', () => {
    let subject: Subject;
    let store: Store;
    let chain: Outcome[];
    beforeEach(async () => {
      subject = await open({ undoWindow: 8 });
      store = subject.store;
      const logs = [{ transactionIndex: 0, address: address(7), topics: [], data: word(1) }];
      chain = makeChain(
        undefined,
        Array.from({ length: 700 }, () => ({ logs })),
      );
    });
    afterEach(async () => {
      await subject.dispose();
    });

    const at = (number: number): Outcome => chain[number] as Outcome;
    const numbers = async (from: number, to: number): Promise<number[]> =>
      (await readAll(store.findLogs(ofSeven, from, to))).map(({ block }) => block.number);
    const range = (from: number, to: number): number[] =>
      Array.from({ length: to - from + 1 }, (_, index) => from + index);

    it('grows downwards without moving its anchor', async () => {
      await store.append(chain.slice(600, 620), { partial: true });
      for (const from of [599, 590, 300, 255, 3]) {
        const lowest = (await store.marks())?.lowest.number;
        await store.prepend(chain.slice(from, lowest));
        expect(await store.marks()).toMatchObject({ lowest: refOf(at(from)), anchor: refOf(at(600)) });
        expect(await numbers(from, 619)).toEqual(range(from, 619));
        expect((await readAll(store.findLogs(everything, from, 619))).length).toBe(620 - from);
      }
      for (const number of [3, 255, 256, 599]) {
        expect(await store.canonicalHash(number)).toBe(at(number).hash);
        expect(await store.numberOf(at(number).hash)).toBe(number);
        expect(bytes(await store.block(at(number)))).toBe(bytes(at(number).block));
        expect(bytes(await store.header(at(number)))).toBe(bytes(at(number).header));
        expect((await store.receipts(at(number)))?.receipts.length).toBe(1);
        expect((await store.blockLogs(at(number)))?.length).toBe(1);
        expect(await store.diffBytes(number)).toBeUndefined();
        await expect(async () => store.loadState([], number)).rejects.toMatchObject({ code: 'outOfRange' });
        await expect(readAll(store.scanState(number))).rejects.toMatchObject({ code: 'outOfRange' });
        await expect(store.revertTo(number)).rejects.toMatchObject({ code: 'outOfRange' });
      }
      await expect(numbers(2, 10)).rejects.toMatchObject({ code: 'outOfRange' });
      await store.append(chain.slice(620, 700));
      expect(await numbers(3, 699)).toEqual(range(3, 699));
      await store.revertTo(695);
      expect(await numbers(590, 695)).toEqual(range(590, 695));
    });

    it('prepends all blocks of a call or none', async () => {
      await expect(store.prepend([at(1)])).rejects.toMatchObject({ code: 'conflict' });
      await store.append(chain.slice(100, 105), { partial: true });
      const before = await describeChain(store);
      const broken = { ...at(98), logs: [{ ...at(98).logs[0], transactionIndex: 9 }] } as Outcome;
      const wrong: Outcome[][] = [
        chain.slice(90, 99),
        [at(98), makeOutcome(at(98), { salt: 'fork' })],
        [makeOutcome(at(97), { salt: 'fork' }), at(99)],
        [at(97), at(99)],
        [broken, at(99)],
      ];
      for (const outcomes of wrong) {
        await expect(store.prepend(outcomes)).rejects.toMatchObject({ code: 'conflict' });
        expect(await describeChain(store)).toEqual(before);
      }
      await store.prepend([]);
      expect(await describeChain(store)).toEqual(before);
    });

    it('ignores the diffs of prepended blocks', async () => {
      const key: StateKey = { kind: 'account', address: address(1) };
      const old = makeOutcome(at(98), { diff: { accounts: [[address(1), word(1)]] } });
      await store.append([makeOutcome(old)], { partial: true });
      await store.prepend([old]);
      expect(await store.loadState([key], 100)).toEqual([undefined]);
    });

    it('forgets what is below at once, however much it may delete', async () => {
      await store.append(chain.slice(0, 620));
      for (const below of [100, 300]) {
        await store.prune(below, 1);
        expect(await store.marks()).toEqual({
          lowest: refOf(at(below)),
          anchor: refOf(at(below)),
          head: refOf(at(619)),
          safe: undefined,
          finalized: undefined,
        });
        const gone = at(below - 1);
        expect(await store.canonicalHash(below - 1)).toBeUndefined();
        expect(await store.numberOf(gone.hash)).toBeUndefined();
        expect(await store.header(gone)).toBeUndefined();
        expect(await store.block(gone)).toBeUndefined();
        expect(await store.receipts(gone)).toBeUndefined();
        expect(await store.blockLogs(gone)).toBeUndefined();
        await expect(store.mark({ safe: refOf(gone) })).rejects.toMatchObject({ code: 'conflict' });
        await expect(numbers(below - 1, 400)).rejects.toMatchObject({ code: 'outOfRange' });
        await expect(async () => store.loadState([], below - 1)).rejects.toMatchObject({
          code: 'outOfRange',
        });
        expect(await numbers(below, 619)).toEqual(range(below, 619));
        // Calls at the new anchor still see the hashes of its past.
        const hash = await store.loadState([{ kind: 'blockHash', number: below - 1 }], below);
        expect(hash.map(bytes)).toEqual([gone.hash.slice(2)]);
      }
      await prune(store, 300, 50);
      expect(await numbers(300, 619)).toEqual(range(300, 619));
      // Below is what it was pruned to already.
      expect(await store.prune(200, 10)).toBe(false);
      expect((await store.marks())?.lowest.number).toBe(300);
    });

    it('refuses to prune what can be reverted', async () => {
      await expect(store.prune(0, 10)).rejects.toMatchObject({ code: 'outOfRange' });
      await store.append(chain.slice(0, 20));
      await expect(store.prune(12, 10)).rejects.toMatchObject({ code: 'outOfRange' });
      await store.prune(11, 10);
      await store.revertTo(11);
      expect(await store.marks()).toMatchObject({ lowest: refOf(at(11)), anchor: refOf(at(11)) });
    });

    it('takes pruned blocks back, prepended', async () => {
      await store.append(chain.slice(0, 620));
      await store.prune(600, 300);
      await store.prepend(chain.slice(500, 600));
      expect(await numbers(500, 619)).toEqual(range(500, 619));
      await prune(store, 0, 100);
      await store.prepend(chain.slice(10, 500));
      expect(await numbers(10, 619)).toEqual(range(10, 619));
      await prune(store, 400, 100);
      expect(await numbers(400, 619)).toEqual(range(400, 619));
      expect(await store.marks()).toMatchObject({ lowest: refOf(at(400)), anchor: refOf(at(600)) });
    });

    it('ends a search whose blocks are pruned meanwhile, rather than leave some out', async () => {
      await store.append(chain);
      const search = store.findLogs(everything, 0, 699)[Symbol.asyncIterator]();
      const seen = [(await search.next()).value?.block.number];
      await prune(store, 650, 1_000_000);
      try {
        for (let step = await search.next(); step.done !== true; step = await search.next()) {
          seen.push(step.value.block.number);
        }
        expect(seen).toEqual(range(0, 699));
      } catch (error) {
        expect(error).toMatchObject({ code: 'outOfRange' });
      }
    });

    it('has the same history after it was closed and opened', async () => {
      if (subject.reopen === undefined) return;
      const random = createRandom(2);
      chain = makeChain(
        undefined,
        Array.from({ length: 60 }, () => randomContent(random)),
      );
      await store.append(chain.slice(30, 50), { partial: true });
      await store.prepend(chain.slice(5, 30));
      await store.prune(35, 3);
      const before = await describeChain(store);
      store = await subject.reopen();
      expect(await describeChain(store)).toEqual(before);
      await prune(store, 35, 3);
      expect(await describeChain(store)).toEqual(before);
    });
  });
}

/** Prunes until nothing is left to do. */
async function prune(store: Store, below: number, limit: number): Promise<void> {
  for (let calls = 0; await store.prune(below, limit); calls++) expect(calls).toBeLessThan(10_000);
}
