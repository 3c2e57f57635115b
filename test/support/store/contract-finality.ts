import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/chain/outcome.ts';
import type { Store } from '../../../src/store/interface.ts';
import { address, makeChain, refOf, word } from './contract-chain.ts';
import { describeChain } from './contract-observe.ts';
import type { OpenSubject, Subject } from './contract-random.ts';

/** What a store promises about marks, and about re-anchoring (B19). */
export function describeFinalityContract(open: OpenSubject): void {
  describe('with marks', () => {
    let subject: Subject;
    let store: Store;
    let chain: Outcome[];
    beforeEach(async () => {
      subject = await open({ undoWindow: 16 });
      store = subject.store;
      chain = makeChain(
        undefined,
        Array.from({ length: 12 }, () => ({})),
      );
      await store.append(chain);
    });
    afterEach(async () => {
      await subject.dispose();
    });

    const at = (number: number): Outcome => chain[number] as Outcome;
    const ref = (number: number) => refOf(at(number));
    const fork = (onto: number, length: number): Outcome[] =>
      makeChain(
        at(onto),
        Array.from({ length }, () => ({ salt: 'fork' })),
      );

    it('never moves one back', async () => {
      await store.mark({ safe: ref(8), finalized: ref(5) });
      for (const back of [{ finalized: ref(4) }, { safe: ref(7) }, { safe: ref(9), finalized: ref(4) }]) {
        await expect(store.mark(back)).rejects.toMatchObject({ code: 'conflict' });
        expect(await store.marks()).toMatchObject({ safe: ref(8), finalized: ref(5) });
      }
      await store.mark({ safe: ref(8), finalized: ref(5) });
      await store.mark({ safe: ref(9), finalized: ref(6) });
      expect(await store.marks()).toMatchObject({ safe: ref(9), finalized: ref(6) });
    });

    it('has what is final be safe', async () => {
      await store.mark({ finalized: ref(3) });
      expect(await store.marks()).toMatchObject({ safe: ref(3), finalized: ref(3) });
      await store.mark({ safe: ref(5) });
      await store.mark({ finalized: ref(7) });
      expect(await store.marks()).toMatchObject({ safe: ref(7), finalized: ref(7) });
      await store.mark({ safe: ref(8), finalized: ref(9) });
      expect(await store.marks()).toMatchObject({ safe: ref(9), finalized: ref(9) });
    });

    it('replaces nothing at or below the final block', async () => {
      await store.mark({ safe: ref(8), finalized: ref(5) });
      const before = await describeChain(store);
      await expect(store.revertTo(4)).rejects.toMatchObject({ code: 'outOfRange' });
      await expect(store.append(fork(4, 9), { onto: 4 })).rejects.toMatchObject({ code: 'outOfRange' });
      await expect(store.append([], { onto: 4 })).rejects.toMatchObject({ code: 'outOfRange' });
      expect(await describeChain(store)).toEqual(before);
    });

    it('marks the first block that was followed by diffs, until it is taken off', async () => {
      const [one, two] = fork(9, 2);
      await store.append(
        [one, two].flatMap((outcome) => outcome ?? []),
        { onto: 9, byDiffs: one && refOf(one) },
      );
      expect(await store.marks()).toMatchObject({ byDiffs: one && refOf(one) });
      const third = makeChain(two, [{ salt: 'third' }]);
      await store.append(third, { byDiffs: third[0] && refOf(third[0]) });
      await store.mark({ safe: ref(9) });
      expect(await store.marks()).toMatchObject({ byDiffs: one && refOf(one) });
      await store.append([], { onto: 10 });
      expect(await store.marks()).toMatchObject({ byDiffs: one && refOf(one) });
      await store.append([], { onto: 9 });
      expect((await store.marks())?.byDiffs).toBeUndefined();
    });

    it('takes safe to the block that both forks have, and leaves what is below alone', async () => {
      await store.mark({ safe: ref(8), finalized: ref(5) });
      await store.append(fork(9, 3), { onto: 9 });
      expect(await store.marks()).toMatchObject({ safe: ref(8), finalized: ref(5) });
      await store.append(fork(6, 4), { onto: 6 });
      expect(await store.marks()).toMatchObject({ safe: ref(6), finalized: ref(5) });
      await store.append([], { onto: 5 });
      expect(await store.marks()).toMatchObject({ head: ref(5), safe: ref(5), finalized: ref(5) });
    });

    it('has the same ones after it was closed and opened', async () => {
      if (subject.reopen === undefined) return;
      await store.mark({ safe: ref(8), finalized: ref(5) });
      store = await subject.reopen();
      expect(await store.marks()).toMatchObject({ safe: ref(8), finalized: ref(5) });
      await expect(store.revertTo(4)).rejects.toMatchObject({ code: 'outOfRange' });
      await expect(store.mark({ finalized: ref(4) })).rejects.toMatchObject({ code: 'conflict' });
    });

    it('re-anchors in one step, with nothing of what was', async () => {
      await store.setMeta('genesis', 'text');
      await store.mark({ safe: ref(8), finalized: ref(5) });
      const account = { kind: 'account', address: address(1) } as const;
      const other = makeChain(
        undefined,
        Array.from({ length: 40 }, () => ({ salt: 'other' })),
      ).slice(37, 39);
      const broken = [other[0] as Outcome, at(3)];
      const before = await describeChain(store);
      await expect(store.append(broken, { reanchor: true, partial: true })).rejects.toMatchObject({
        code: 'conflict',
      });
      expect(await describeChain(store)).toEqual(before);
      await store.append(other, { reanchor: true, partial: true, pins: [{ key: account, value: word(9) }] });
      const [anchor, head] = other.map(refOf);
      expect(await store.marks()).toEqual({
        ...{ lowest: anchor, anchor, head },
        ...{ safe: undefined, finalized: undefined },
      });
      expect(await store.canonicalHash(5)).toBeUndefined();
      expect(await store.numberOf(at(5).hash)).toBeUndefined();
      expect(await store.loadState([account], 38)).toEqual([word(9)]);
      expect(await store.getMeta('genesis')).toBe('text');
    });

    it('does not re-anchor over history that was prepended', async () => {
      await store.append(chain.slice(9, 11), { reanchor: true, partial: true });
      await store.prepend(chain.slice(4, 9));
      const before = await describeChain(store);
      await expect(store.append([at(11)], { reanchor: true, partial: true })).rejects.toMatchObject({
        code: 'conflict',
      });
      expect(await describeChain(store)).toEqual(before);
    });
  });
}
