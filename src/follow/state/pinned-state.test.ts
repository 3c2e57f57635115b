import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { makeChain, makeOutcome } from '../../../test/support/store/contract-chain.ts';
import type { BlockRef } from '../../chain/outcome.ts';
import { keyText, type StateKey } from '../../chain/state-key.ts';
import type { LoadContext } from '../../executor/interface.ts';
import { OverloadedError } from '../../primitives/errors.ts';
import type { ReadOptions } from '../../source/interface.ts';
import type { Store } from '../../store/interface.ts';
import { createMemoryStore } from '../../store/memory/index.ts';
import { BlockReads } from './block-reads.ts';
import { PinnedState } from './pinned-state.ts';
import type { UpstreamValue } from './reader.ts';

interface Read {
  readonly keys: readonly string[];
  readonly options: ReadOptions;
  readonly answer: () => void;
}

const account = (index: number): StateKey => ({ kind: 'account', address: new Uint8Array(20).fill(index) });
const client = (signal: AbortSignal): LoadContext => ({ client: 'test', signal });

let store: Store;
let head: BlockRef;
let reads: Read[];
let state: PinnedState;

beforeEach(async () => {
  store = createMemoryStore();
  const first = makeOutcome({ number: 6, hash: '0x06' });
  await store.append([first], { partial: true });
  head = { number: first.number, hash: first.hash };
  reads = [];
  state = open({ maxPins: 100 });
});

/** Reads wait until they are answered, or rejected by their signal. */
function open({ maxPins }: { readonly maxPins: number }): PinnedState {
  return new PinnedState(
    { maxPins, pinDelayMs: 3_600_000, archiveCodeBytes: 1_024 },
    {
      store,
      read: (keys, _at, options = {}) =>
        new Promise<readonly UpstreamValue[]>((resolve, reject) => {
          const answer = (): void =>
            resolve(keys.map(() => ({ value: Uint8Array.of(1), upstream: 'upstream' })));
          options.signal?.addEventListener('abort', () => reject(options.signal?.reason as Error));
          reads.push({ keys: keys.map(keyText), options, answer });
        }),
      onFault: (error) => {
        throw error;
      },
    },
  );
}

/** Lets everything run that does not wait for an answer. */
const settled = (): Promise<void> => nextTurn();

describe('reading below a block that was followed by diffs', () => {
  it('asks upstreams for the state before it, as it may have written what nothing here knows of', async () => {
    const at: number[] = [];
    const chain = makeChain(head, [{}, {}, {}]);
    const ref = (number: number): BlockRef => ({ number, hash: chain[number - 8]?.hash ?? '0x' });
    await store.append(chain, { byDiffs: ref(9) });
    const reading = new PinnedState(
      { maxPins: 100, pinDelayMs: 3_600_000, archiveCodeBytes: 1_024 },
      {
        store,
        read: async (keys, { number }) => {
          at.push(number);
          return keys.map(() => ({ value: Uint8Array.of(1), upstream: 'upstream' }));
        },
        onFault: () => {},
      },
    );
    await reading.load([account(1)], 8, ref(8));
    await reading.load([account(2)], 8, ref(9));
    await reading.load([account(3)], 8, undefined);
    expect(at).toEqual([8, 10, 10]);
  });
});

describe('reading what nothing here knows', () => {
  it('is given up with the request, unless somebody else waits for it', async () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const first = state.load([account(1), account(2)], 7, head, client(one.signal));
    const second = state.load([account(2)], 7, head, client(other.signal));
    await settled();
    expect(reads.map(({ keys }) => keys)).toEqual([[keyText(account(1)), keyText(account(2))]]);
    one.abort();
    await expect(first).rejects.toThrow('aborted');
    expect(reads[0]?.options.signal?.aborted).toBe(false);
    other.abort();
    await expect(second).rejects.toThrow('aborted');
    expect(reads[0]?.options.signal?.aborted).toBe(true);
    // Who asks now does not join what was given up.
    const again = state.load([account(1)], 7, head, client(new AbortController().signal));
    await settled();
    reads[1]?.answer();
    expect(await again).toEqual([Uint8Array.of(1)]);
  });

  it('for a block never waits for reads of requests, and requests wait for those of blocks', async () => {
    const { signal } = new AbortController();
    const requested = state.load([account(1)], 7, head, client(signal));
    await settled();
    const followed = state.loadFor(new BlockReads(undefined), [account(1), account(2)], 7);
    await settled();
    const joined = state.load([account(2)], 7, head, client(signal));
    await settled();
    expect(reads.map(({ options }) => options.forRequest)).toEqual([true, false]);
    expect(reads.map(({ keys }) => keys.length)).toEqual([1, 2]);
    reads[1]?.answer();
    expect(await followed).toHaveLength(2);
    expect(await joined).toHaveLength(1);
    reads[0]?.answer();
    expect(await requested).toHaveLength(1);
  });

  it('finds what a block has read and overwritten since it was looked for', async () => {
    const key: StateKey = { kind: 'slot', address: new Uint8Array(20).fill(1), slot: new Uint8Array(32) };
    const block = makeOutcome(head, { diff: { slots: [[key.address, key.slot, Uint8Array.of(2)]] } });
    const look = store.loadState.bind(store);
    vi.spyOn(store, 'loadState').mockImplementationOnce(async (...asked) => {
      const values = await look(...asked);
      await store.append([block], { pins: [{ key, value: Uint8Array.of(1) }] });
      return values;
    });
    expect(await state.load([key], head.number, head)).toEqual([Uint8Array.of(1)]);
    expect(reads).toEqual([]);
  });

  it('for a block that is never verified serves another that overwrites it', async () => {
    const key = account(1);
    const abandoned = state.loadFor(new BlockReads(undefined), [key], head.number);
    await settled();
    reads[0]?.answer();
    await abandoned;
    const block = makeOutcome(head, {
      diff: { accounts: [[new Uint8Array(20).fill(1), Uint8Array.of(2)]] },
    });
    const pins = state.dueWith([block]);
    await store.append([block], { pins });
    state.written(pins);
    expect(await state.load([key], head.number, head)).toEqual([Uint8Array.of(1)]);
    expect(reads).toHaveLength(1);
    // It is known for ever now: the next block that writes it has nothing to bring.
    expect(state.dueWith([block])).toEqual([]);
  });

  describe('and has code', () => {
    const hash = new Uint8Array(32).fill(9);
    const key: StateKey = { kind: 'code', hash };
    const bytes = Uint8Array.of(0x60);
    // RLP of [1, 1, hash].
    const value = Uint8Array.from([0xe3, 1, 1, 0xa0, ...hash]);
    const reading = (isShared: boolean): PinnedState =>
      new PinnedState(
        { maxPins: 100, pinDelayMs: 3_600_000, archiveCodeBytes: 1_024, isShared },
        {
          store,
          read: async (keys) => keys.map(() => ({ value, code: { hash, bytes }, upstream: 'upstream' })),
          onFault: () => {},
        },
      );

    it('keeps it with a block that overwrites the account, though the one that read it was never verified', async () => {
      const kept = reading(false);
      await kept.loadFor(new BlockReads(undefined), [account(1)], head.number);
      const block = makeOutcome(head, { diff: { accounts: [[new Uint8Array(20).fill(1), value]] } });
      await store.append([block], { pins: kept.dueWith([block]) });
      expect(await store.loadState([key], block.number)).toEqual([bytes]);
    });

    it('has it in a store that others read before a block can be executed with it', async () => {
      const shared = reading(true);
      await shared.loadFor(new BlockReads(undefined), [account(1)], head.number);
      expect(await store.loadState([account(1), key], head.number)).toEqual([undefined, bytes]);
      await store.append(makeChain(head, [{}]), { partial: true, reanchor: true });
      expect(await store.loadState([key], head.number + 1)).toEqual([undefined]);
    });
  });

  it('is refused for requests while too much waits to be written, and never for blocks', async () => {
    state = open({ maxPins: 2 });
    const { signal } = new AbortController();
    const fetched = state.load([account(1), account(2)], 7, head, client(signal));
    await settled();
    reads[0]?.answer();
    await fetched;
    await expect(state.load([account(3)], 7, head, client(signal))).rejects.toThrow(OverloadedError);
    // What is known is served all the same.
    expect(await state.load([account(1)], 7, head, client(signal))).toHaveLength(1);
    const followed = state.loadFor(new BlockReads(undefined), [account(3)], 7);
    await settled();
    reads[1]?.answer();
    expect(await followed).toHaveLength(1);
    await state.flush();
    const more = state.load([account(4)], 7, head, client(signal));
    await settled();
    reads[2]?.answer();
    expect(await more).toHaveLength(1);
  });
});
