import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/chain/outcome.ts';
import type { StateKey } from '../../../src/chain/state-key.ts';
import type { Store } from '../../../src/store/interface.ts';
import {
  address,
  type BlockContent,
  createRandom,
  makeChain,
  makeOutcome,
  randomContent,
  topic,
  word,
} from './contract-chain.ts';
import { describeFinalityContract } from './contract-finality.ts';
import { describeHistoryContract } from './contract-history.ts';
import { bytes, describeChain, describeLogs, plain, readAll } from './contract-observe.ts';
import { describePartialContract } from './contract-partial.ts';
import { describeRandomContract, type OpenSubject, type Subject } from './contract-random.ts';

/** The suite that every driver passes. Random tests carry their seed in their name; TEST_SEED runs it again. */
export function describeStoreContract(name: string, open: OpenSubject): void {
  describe(`${name} keeps the store contract`, () => {
    let subject: Subject;
    let store: Store;
    beforeEach(async () => {
      subject = await open({ undoWindow: 8 });
      store = subject.store;
    });
    afterEach(async () => {
      await subject.dispose();
    });

    async function grow(contents: readonly BlockContent[]): Promise<Outcome[]> {
      const chain = makeChain((await store.marks())?.head, contents);
      await store.append(chain);
      return chain;
    }

    it('starts empty', async () => {
      expect(await store.marks()).toBeUndefined();
      expect(await store.canonicalHash(0)).toBeUndefined();
      expect(await store.getMeta('genesis')).toBeUndefined();
      await expect(async () => store.loadState([], 0)).rejects.toMatchObject({ code: 'outOfRange' });
      await expect(readAll(store.findLogs({ addresses: [], topics: [] }, 0, 0))).rejects.toMatchObject({
        code: 'outOfRange',
      });
    });

    it('keeps texts', async () => {
      await store.setMeta('genesis', '{"é": 1}');
      expect(await store.getMeta('genesis')).toBe('{"é": 1}');
    });

    it('gives back each part of a block under its number and hash only', async () => {
      const chain = await grow([{}, { logs: [log(7, [topic(1)])] }, {}]);
      for (const outcome of chain) {
        expect(await store.canonicalHash(outcome.number)).toBe(outcome.hash);
        expect(await store.numberOf(outcome.hash)).toBe(outcome.number);
        expect(bytes(await store.header(outcome))).toEqual(bytes(outcome.header));
        expect(bytes(await store.block(outcome))).toEqual(bytes(outcome.block));
        expect(bytes(await store.diffBytes(outcome.number))).toEqual(bytes(outcome.diffBytes));
      }
      const [first, second] = chain as [Outcome, Outcome];
      const wrong = { number: second.number, hash: first.hash };
      expect(await store.header(wrong)).toBeUndefined();
      expect(await store.block(wrong)).toBeUndefined();
      expect(await store.receipts(wrong)).toBeUndefined();
      expect(await store.blockLogs(wrong)).toBeUndefined();
      expect(await store.canonicalHash(3)).toBeUndefined();
      expect(await store.numberOf('0x00')).toBeUndefined();
    });

    it('gives back receipts and logs as they were', async () => {
      const logs = Array.from({ length: 300 }, (_, index) => ({
        transactionIndex: Math.floor(index / 7),
        address: address(index % 5),
        topics: [topic(1), word(index), topic(index)].slice(0, index % 4),
        data: index % 3 === 0 ? word(index, 64) : Buffer.alloc(index, index),
      }));
      const [, outcome] = (await grow([{}, { logs }])) as [Outcome, Outcome];
      const stored = await store.receipts(outcome);
      expect(stored?.receipts.map(plain)).toEqual(outcome.receipts.map(plain));
      expect(stored && describeLogs(stored.logs)).toEqual(
        logs.map((entry) => ({
          ...(plain(entry) as object),
          transactionHash: bytes(outcome.receipts[entry.transactionIndex]?.transactionHash),
        })),
      );
      expect(stored?.logs.timestamp).toBe(outcome.timestamp);
      expect(stored?.logs.hash).toBe(outcome.hash);
    });

    it('appends all blocks of a call or none', async () => {
      const [genesis] = (await grow([{}])) as [Outcome];
      const good = makeOutcome(genesis, { diff: { accounts: [[address(1), word(1)]] }, logs: [log(7, [])] });
      const stranger = makeOutcome({ number: 1, hash: genesis.hash });
      const before = await describeChain(store);
      await expect(store.append([good, stranger])).rejects.toMatchObject({ code: 'conflict' });
      const orphan = { ...makeOutcome(good), logs: [{ ...log(7, []), transactionIndex: 9 }] };
      await expect(store.append([good, orphan])).rejects.toMatchObject({ code: 'conflict' });
      expect(await describeChain(store)).toEqual(before);
      await expect(store.append([makeOutcome(good)])).rejects.toMatchObject({ code: 'conflict' });
      await expect(store.append([genesis])).rejects.toMatchObject({ code: 'conflict' });
      await store.append([good]);
      expect((await store.marks())?.head).toEqual({ number: 1, hash: good.hash });
    });

    it('marks canonical blocks', async () => {
      const [zero, one, two] = (await grow([{}, {}, {}])) as [Outcome, Outcome, Outcome];
      const ref = ({ number, hash }: Outcome) => ({ number, hash });
      expect(await store.marks()).toEqual({
        lowest: ref(zero),
        anchor: ref(zero),
        head: ref(two),
        safe: undefined,
        finalized: undefined,
      });
      await store.mark({ safe: ref(two), finalized: ref(one) });
      expect(await store.marks()).toMatchObject({ safe: ref(two), finalized: ref(one) });
      const stranger = { number: 1, hash: two.hash };
      await expect(store.mark({ safe: ref(one), finalized: stranger })).rejects.toMatchObject({
        code: 'conflict',
      });
      expect(await store.marks()).toMatchObject({ safe: ref(two), finalized: ref(one) });
      await store.revertTo(1);
      expect(await store.marks()).toMatchObject({ head: ref(one), safe: ref(one), finalized: ref(one) });
    });

    it('has every version of state', async () => {
      const account = { kind: 'account', address: address(1) } as const;
      const slot = { kind: 'slot', address: address(1), slot: word(5) } as const;
      const neighbour = { kind: 'slot', address: address(1), slot: word(6) } as const;
      await grow([
        {},
        { diff: { accounts: [[address(1), word(11)]], slots: [[address(1), word(5), word(21)]] } },
        {},
        { diff: { accounts: [[address(1), word(13)]], slots: [[address(1), word(5), new Uint8Array(0)]] } },
      ]);
      const at = async (number: number) =>
        (await store.loadState([account, slot, neighbour], number)).map(bytes);
      expect(await at(0)).toEqual(['', '', '']);
      expect(await at(1)).toEqual([bytes(word(11)), bytes(word(21)), '']);
      expect(await at(2)).toEqual(await at(1));
      expect(await at(3)).toEqual([bytes(word(13)), '', '']);
      await expect(async () => store.loadState([account], 4)).rejects.toMatchObject({ code: 'outOfRange' });
    });

    it('tells unknown from empty when it began with a part of the state', async () => {
      const parent = { number: 99, hash: word(99).toString() as `0x${string}` };
      const anchor = makeOutcome({ ...parent, hash: makeOutcome(undefined).hash });
      const next = makeOutcome(anchor, {
        diff: {
          wiped: [address(2)],
          accounts: [[address(1), new Uint8Array(0)]],
          slots: [[address(1), word(1), word(2)]],
        },
      });
      await store.append([anchor, next], { partial: true });
      const keys: StateKey[] = [
        { kind: 'account', address: address(1) },
        { kind: 'account', address: address(3) },
        { kind: 'slot', address: address(1), slot: word(1) },
        { kind: 'slot', address: address(2), slot: word(1) },
        { kind: 'code', hash: topic(1) },
        { kind: 'blockHash', number: 100 },
        { kind: 'blockHash', number: 99 },
      ];
      const known = anchor.hash.slice(2);
      const rest = [undefined, known, undefined];
      expect((await store.loadState(keys, 100)).map(bytes)).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
        ...rest,
      ]);
      expect((await store.loadState(keys, 101)).map(bytes)).toEqual([
        '',
        undefined,
        bytes(word(2)),
        '',
        ...rest,
      ]);
      await expect(async () => store.loadState(keys, 99)).rejects.toMatchObject({ code: 'outOfRange' });
    });

    it('wipes storage from the block on that says so', async () => {
      const slots = [1, 2].map((slot) => ({ kind: 'slot', address: address(1), slot: word(slot) }) as const);
      const other = { kind: 'slot', address: address(2), slot: word(1) } as const;
      await grow([
        {
          diff: {
            slots: [
              [address(1), word(1), word(1)],
              [address(1), word(2), word(2)],
              [address(2), word(1), word(3)],
            ],
          },
        },
        { diff: { wiped: [address(1)], slots: [[address(1), word(2), word(4)]] } },
        { diff: { slots: [[address(1), word(1), word(5)]] } },
        { diff: { wiped: [address(1)] } },
      ]);
      const at = async (number: number) => (await store.loadState([...slots, other], number)).map(bytes);
      const [one, two, three, four, five] = [1, 2, 3, 4, 5].map((value) => bytes(word(value)));
      expect(await at(0)).toEqual([one, two, three]);
      expect(await at(1)).toEqual(['', four, three]);
      expect(await at(2)).toEqual([five, four, three]);
      expect(await at(3)).toEqual(['', '', three]);
      const scanned = await readAll(store.scanState(1));
      expect(scanned.map(plain)).toEqual([
        plain({ kind: 'slot', address: address(1), slot: word(2), value: word(4) }),
        plain({ kind: 'slot', address: address(2), slot: word(1), value: word(3) }),
      ]);
    });

    it('keeps code once, until the block that brought it is reverted', async () => {
      const key = { kind: 'code', hash: topic(1) } as const;
      const content = { diff: { codes: [[topic(1), word(9)] as const] } };
      await grow([{}, content, content]);
      expect((await store.loadState([key], 0)).map(bytes)).toEqual([bytes(word(9))]);
      await store.revertTo(1);
      expect((await store.loadState([key], 1)).map(bytes)).toEqual([bytes(word(9))]);
      await store.revertTo(0);
      expect((await store.loadState([key], 0)).map(bytes)).toEqual(['']);
    });

    it('refuses to revert deeper than its undo window, below the anchor or above the head', async () => {
      await grow(Array.from({ length: 20 }, () => ({})));
      const before = await describeChain(store);
      for (const number of [10, 0, -1, 20]) {
        await expect(store.revertTo(number)).rejects.toMatchObject({ code: 'outOfRange' });
      }
      expect(await describeChain(store)).toEqual(before);
      expect(await store.diffBytes(11)).toBeUndefined();
      expect(await store.diffBytes(12)).toBeDefined();
      await store.revertTo(11);
      expect((await store.marks())?.head.number).toBe(11);
      await expect(store.revertTo(10)).rejects.toMatchObject({ code: 'outOfRange' });
    });

    it('can be taken back as far as each append said, and no further than any did', async () => {
      const chain = makeChain(
        undefined,
        Array.from({ length: 40 }, () => ({ logs: [log(7, [topic(1)])] })),
      );
      await store.append(chain.slice(0, 20), { undo: 15 });
      expect(await store.undoFloor()).toBe(4);
      await store.append(chain.slice(20, 30), { undo: 3 });
      expect(await store.undoFloor()).toBe(26);
      await expect(store.prune(27, 1_000)).rejects.toMatchObject({ code: 'outOfRange' });
      await store.append(chain.slice(30), { undo: 100 });
      expect(await store.undoFloor()).toBe(26);
      await expect(store.revertTo(25)).rejects.toMatchObject({ code: 'outOfRange' });
      await store.prune(26, 1_000);
      await store.append([], { onto: 30 });
      expect(await store.diffBytes(27)).toBeDefined();
      await store.revertTo(26);
      expect(await store.undoFloor()).toBe(26);
      await store.append(chain.slice(27, 29));
      expect(await store.undoFloor()).toBe(26);
      const found = await readAll(store.findLogs({ addresses: [address(7)], topics: [] }, 26, 28));
      expect(found.map(({ block }) => block.number)).toEqual([26, 27, 28]);
    });

    it('refuses ranges of logs that it does not hold, and finds none in an empty range', async () => {
      await grow([{}, {}]);
      const query = { addresses: [], topics: [] };
      await expect(readAll(store.findLogs(query, 0, 2))).rejects.toMatchObject({ code: 'outOfRange' });
      expect(await readAll(store.findLogs(query, 1, 0))).toEqual([]);
    });

    it('finds logs of values that are in most logs of many blocks', async () => {
      // More of them in 64 blocks than a driver may want to list.
      const busy = Array.from({ length: 30 }, (_, at) => log(at % 12 === 0 ? 8 : 7, [topic(1), topic(at)]));
      await grow(
        Array.from({ length: 140 }, (_, number) => ({ logs: number % 3 === 0 ? [log(7, [])] : busy })),
      );
      const find = async (
        addresses: readonly number[],
        ...topics: (readonly number[])[]
      ): Promise<string[]> => {
        const query = { addresses: addresses.map(address), topics: topics.map((some) => some.map(topic)) };
        const found = await readAll(store.findLogs(query, 1, 138));
        return found.map(({ block, indexes }) => `${block.number}: ${indexes.join(' ')}`);
      };
      const expected = (indexes: readonly number[]): string[] =>
        Array.from({ length: 138 }, (_, at) => at + 1).flatMap((number) =>
          number % 3 === 0 ? [] : [`${number}: ${indexes.join(' ')}`],
        );
      const all = busy.map((_, at) => at);
      const ofSeven = all.filter((at) => at % 12 > 0);
      expect(await find([], [1])).toEqual(expected(all));
      expect(await find([7], [1])).toEqual(expected(ofSeven));
      expect(await find([8], [1])).toEqual(expected([0, 12, 24]));
      expect(await find([7, 8], [1], [3, 12])).toEqual(expected([3, 12]));
      expect(await find([8], [1], [3])).toEqual([]);
      expect(await find([7])).toHaveLength(138);
    });

    it('never mixes two forks in one answer', async () => {
      await grow(Array.from({ length: 1000 }, () => ({ logs: [log(7, [topic(1)])] })));
      const query = { addresses: [address(7)], topics: [] };
      const search = store.findLogs(query, 0, 999)[Symbol.asyncIterator]();
      const first = await search.next();
      expect(first.value?.block.number).toBe(0);
      await store.revertTo(995);
      await grow(Array.from({ length: 4 }, () => ({ salt: 'fork', logs: [log(7, [topic(1)])] })));
      const fork = new Set<string>();
      try {
        for (let step = await search.next(); step.done !== true; step = await search.next()) {
          fork.add(step.value.block.number > 995 ? step.value.block.hash : 'common');
        }
        // An answer that was given must be of the fork it began on.
        expect(fork.has((await store.canonicalHash(999)) ?? '')).toBe(false);
      } catch (error) {
        expect(error).toMatchObject({ code: 'reorganised' });
      }
    });

    it('stops reading when the caller stops', async () => {
      await grow(Array.from({ length: 50 }, () => ({ logs: [log(7, [topic(1)])] })));
      for await (const match of store.findLogs({ addresses: [address(7)], topics: [] }, 0, 49)) {
        expect(match.block.number).toBe(0);
        break;
      }
      await store.revertTo(45);
      expect((await readAll(store.findLogs({ addresses: [address(7)], topics: [] }, 0, 45))).length).toBe(46);
    });

    it.each([
      // None of the logs has a second topic, which only their bodies tell.
      ['one address', { addresses: [address(7)], topics: [[], []] }],
      ['alternatives', { addresses: [address(7), address(8)], topics: [[topic(1), topic(2)], []] }],
      ['any address', { addresses: [], topics: [[], []] }],
    ])('gives others their turn and can be stopped while nothing matches: %s', async (_, query) => {
      const logs = Array.from({ length: 40 }, (_other, index) => log(7 + (index % 2), [topic(1)]));
      await grow(Array.from({ length: 300 }, () => ({ logs })));
      let checkpoints = 0;
      let turns = 0;
      const progress = { done: false };
      const others = (async (): Promise<void> => {
        for (; !progress.done; turns++) await nextTurn();
      })();
      const count = (): void => {
        checkpoints++;
      };
      expect(await readAll(store.findLogs(query, 0, 299, count))).toEqual([]);
      progress.done = true;
      await others;
      expect(checkpoints).toBeGreaterThan(1);
      expect(turns).toBeGreaterThanOrEqual(checkpoints);
      const stop = (): void => {
        if (--checkpoints === 0) throw new Error('stopped');
      };
      checkpoints = 2;
      await expect(readAll(store.findLogs(query, 0, 299, stop))).rejects.toThrow('stopped');
    });

    it('has the same content after it was closed and opened', async () => {
      if (subject.reopen === undefined) return;
      const random = createRandom(1);
      await grow(Array.from({ length: 30 }, () => randomContent(random)));
      const before = await describeChain(store);
      store = await subject.reopen();
      expect(await describeChain(store)).toEqual(before);
      await store.revertTo(25);
      expect((await store.marks())?.head.number).toBe(25);
    });

    describeRandomContract(open);
    describePartialContract(open);
    describeHistoryContract(open);
    describeFinalityContract(open);
  });
}

function log(from: number, topics: readonly Uint8Array[]) {
  return { transactionIndex: 0, address: address(from), topics, data: word(1) };
}
