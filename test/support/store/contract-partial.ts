import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/chain/outcome.ts';
import type { StateKey } from '../../../src/chain/state-key.ts';
import { fromHex } from '../../../src/primitives/hex.ts';
import type { Pin, Store } from '../../../src/store/interface.ts';
import { address, codeOf, emptyDiff, makeChain, makeOutcome, refOf, topic, word } from './contract-chain.ts';
import { bytes, describeChain, plain, readAll } from './contract-observe.ts';
import type { OpenSubject, Subject } from './contract-random.ts';

const account = (value: number): StateKey => ({ kind: 'account', address: address(value) });
const slot = (of: number, value: number): StateKey => ({
  kind: 'slot',
  address: address(of),
  slot: word(value),
});
const code = (value: number): StateKey => ({ kind: 'code', hash: topic(value) });
const empty = new Uint8Array(0);

/** What a store promises that began in the middle of a chain, without the whole state. */
export function describePartialContract(open: OpenSubject): void {
  describe('as a partial copy', () => {
    let subject: Subject;
    let store: Store;
    /** Blocks 0 to 120, of which the store begins with block 100. */
    let chain: Outcome[];
    beforeEach(async () => {
      subject = await open({ undoWindow: 8 });
      store = subject.store;
      chain = makeChain(
        undefined,
        Array.from({ length: 121 }, () => ({})),
      );
    });
    afterEach(async () => {
      await subject.dispose();
    });

    const at = (number: number): Outcome => chain[number] as Outcome;
    const load = async (keys: readonly StateKey[], number: number): Promise<(string | undefined)[]> =>
      (await store.loadState(keys, number)).map(bytes);

    it('is partial or complete as it was told, whatever its first number', async () => {
      await store.append([at(0)], { partial: true });
      expect(await load([account(1), slot(1, 1), code(1)], 0)).toEqual([undefined, undefined, undefined]);
      await store.append([at(100)], { reanchor: true });
      expect(await load([account(1), slot(1, 1), code(1)], 100)).toEqual(['', '', '']);
      // Only the first block is asked.
      await store.append([at(101)], { partial: true });
      expect(await load([account(1)], 101)).toEqual(['']);
    });

    it('pins what it does not know as of the anchor, the first time only', async () => {
      const written = makeOutcome(at(100), {
        diff: { accounts: [[address(2), word(22)]], slots: [[address(2), word(1), word(23)]] },
      });
      await store.append([at(100), written], { partial: true });
      const keys = [account(1), slot(1, 1), account(2), slot(2, 1), code(3)];
      const pins = [word(1), word(2), word(3), empty, word(5)].map(
        (value, index): Pin => ({ key: keys[index] as StateKey, value }),
      );
      await store.pin(refOf(at(100)), pins);
      const pinned = [bytes(word(1)), bytes(word(2)), bytes(word(3)), '', bytes(word(5))];
      expect(await load(keys, 100)).toEqual(pinned);
      expect(await load(keys, 101)).toEqual([
        pinned[0],
        pinned[1],
        bytes(word(22)),
        bytes(word(23)),
        pinned[4],
      ]);
      await store.pin(
        refOf(at(100)),
        keys.map((key) => ({ key, value: word(77) })),
      );
      expect(await load(keys, 100)).toEqual(pinned);
      await store.revertTo(100);
      expect(await load(keys, 100)).toEqual(pinned);
      expect((await readAll(store.scanState(100))).map(plain)).toEqual([
        plain({ kind: 'account', address: address(1), value: word(1) }),
        plain({ kind: 'slot', address: address(1), slot: word(1), value: word(2) }),
        plain({ kind: 'account', address: address(2), value: word(3) }),
      ]);
    });

    it('keeps what the anchor wrote against pins, wipes included', async () => {
      const anchor = makeOutcome(at(99), {
        diff: { accounts: [[address(1), empty]], wiped: [address(2)] },
      });
      const next = makeOutcome(anchor, { diff: { wiped: [address(3)] } });
      await store.append([anchor, next], { partial: true });
      const keys = [account(1), slot(2, 1), slot(3, 1)];
      expect(await load(keys, 100)).toEqual(['', '', undefined]);
      await store.pin(
        refOf(anchor),
        keys.map((key) => ({ key, value: word(9) })),
      );
      expect(await load(keys, 100)).toEqual(['', '', bytes(word(9))]);
      expect(await load(keys, 101)).toEqual(['', '', '']);
    });

    it('has nothing to pin in a complete store, and refuses another anchor or none', async () => {
      const pins = [{ key: account(1), value: word(1) }];
      await expect(store.pin(refOf(at(100)), pins)).rejects.toMatchObject({ code: 'conflict' });
      await expect(store.append([], { pins })).rejects.toMatchObject({ code: 'conflict' });
      await store.append([at(100), at(101)]);
      await store.pin(refOf(at(100)), [...pins, { key: code(1), value: word(1) }]);
      expect(await load([account(1), code(1)], 100)).toEqual(['', '']);
      for (const other of [refOf(at(101)), { number: 100, hash: at(101).hash }]) {
        await expect(store.pin(other, pins)).rejects.toMatchObject({ code: 'conflict' });
      }
    });

    it('keeps pinned code whichever came first, the pin or the block that is reverted', async () => {
      const brings = (value: number) => ({ diff: { ...emptyDiff, codes: [codeOf(value)] } });
      const first = makeOutcome(at(100), brings(1));
      const second = makeOutcome(first, brings(2));
      await store.append([at(100)], { partial: true });
      await store.pin(refOf(at(100)), [{ key: code(1), value: word(1) }]);
      await store.append([first, second, makeOutcome(second, brings(3))]);
      await store.pin(refOf(at(100)), [{ key: code(2), value: word(2) }]);
      await store.revertTo(100);
      expect(await load([code(1), code(2), code(3)], 100)).toEqual([
        bytes(word(1)),
        bytes(word(2)),
        undefined,
      ]);
    });

    it('gives pinned hashes of blocks below the lowest to state reads only', async () => {
      const key = (number: number): StateKey => ({ kind: 'blockHash', number });
      const hash = (number: number): Uint8Array => fromHex(at(number).hash);
      await store.append([at(100)], { partial: true });
      await store.pin(refOf(at(100)), [
        { key: key(98), value: hash(98) },
        { key: key(99), value: hash(99) },
        { key: key(100), value: hash(1) },
      ]);
      const known = [undefined, ...[98, 99, 100].map((number) => bytes(hash(number)))];
      expect(await load([97, 98, 99, 100].map(key), 100)).toEqual(known);
      expect(await store.canonicalHash(99)).toBeUndefined();
      expect(await store.numberOf(at(99).hash)).toBeUndefined();
      await store.prepend([at(99)]);
      expect(await load([97, 98, 99, 100].map(key), 100)).toEqual(known);
      expect(await store.canonicalHash(99)).toBe(at(99).hash);
      expect(await store.canonicalHash(98)).toBeUndefined();
    });

    it('replaces a fork and pins what it needed in one step', async () => {
      await store.append(chain.slice(100, 111), { partial: true });
      await store.mark({ safe: refOf(at(110)), finalized: refOf(at(105)) });
      const fork = makeChain(at(107), [{ salt: 'fork' }, { salt: 'fork' }]);
      const pins = [{ key: account(1), value: word(1) }];
      const before = await describeChain(store);
      const stranger = makeOutcome(at(108));
      await expect(store.append([stranger], { onto: 107, pins })).rejects.toMatchObject({ code: 'conflict' });
      for (const onto of [99, 101, 111]) {
        await expect(store.append(fork, { onto, pins })).rejects.toMatchObject({ code: 'outOfRange' });
      }
      expect(await describeChain(store)).toEqual(before);
      expect(await load([account(1)], 100)).toEqual([undefined]);
      await store.append(fork, { onto: 107, pins });
      expect(await store.marks()).toEqual({
        lowest: refOf(at(100)),
        anchor: refOf(at(100)),
        head: refOf(fork[1] as Outcome),
        safe: refOf(at(107)),
        finalized: refOf(at(105)),
      });
      expect(await store.canonicalHash(108)).toBe(fork[0]?.hash);
      expect(await store.numberOf(at(108).hash)).toBeUndefined();
      expect(await load([account(1)], 100)).toEqual([bytes(word(1))]);
    });

    it('refuses state of a block that is not canonical in the same snapshot', async () => {
      await store.append(chain.slice(100, 103), { partial: true });
      expect(await store.loadState([account(1)], 101, refOf(at(102)))).toEqual([undefined]);
      const other = makeOutcome(at(101), { salt: 'fork' });
      await expect(async () => store.loadState([account(1)], 102, refOf(other))).rejects.toMatchObject({
        code: 'reorganised',
      });
      await store.append([other], { onto: 101 });
      await expect(async () => store.loadState([account(1)], 101, refOf(at(102)))).rejects.toMatchObject({
        code: 'reorganised',
      });
      expect(await store.loadState([account(1)], 102, refOf(other))).toEqual([undefined]);
    });

    it('forgets everything but texts when it re-anchors', async () => {
      await store.setMeta('genesis', 'text');
      await store.append(chain.slice(100, 112), {
        partial: true,
        pins: [account(1), slot(1, 1), code(1)].map((key) => ({ key, value: word(1) })),
      });
      await store.prepend(chain.slice(95, 100));
      await store.prune(102, 1000);
      await store.append(chain.slice(5, 7), { reanchor: true, partial: true });
      expect(await store.canonicalHash(100)).toBeUndefined();
      expect(await store.getMeta('genesis')).toBe('text');
      expect(await store.marks()).toMatchObject({
        lowest: refOf(at(5)),
        anchor: refOf(at(5)),
        safe: undefined,
      });
      expect(await load([account(1), slot(1, 1), code(1)], 6)).toEqual([undefined, undefined, undefined]);
    });
  });
}
