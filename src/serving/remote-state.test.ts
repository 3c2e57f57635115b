import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeOutcome } from '../../test/support/store/contract-chain.ts';
import type { BlockRef } from '../chain/outcome.ts';
import type { StateKey } from '../chain/state-key.ts';
import type { LoadContext } from '../executor/interface.ts';
import { OverloadedError, StateLimitError, StateUnavailableError } from '../primitives/errors.ts';
import { LoadBudget, type LoadLimits } from '../primitives/load-budget.ts';
import type { Store } from '../store/interface.ts';
import { createMemoryStore } from '../store/memory/index.ts';
import type { WorkerEvent } from './messages.ts';
import { RemoteState } from './remote-state.ts';

const ROOMY: LoadLimits = { values: 1_000, bytes: 1_000_000 };
const account = (index: number): StateKey => ({ kind: 'account', address: new Uint8Array(20).fill(index) });

let store: Store;
let head: BlockRef;
let said: WorkerEvent[];

beforeEach(async () => {
  store = createMemoryStore();
  const first = makeOutcome({ number: 6, hash: '0x06' });
  await store.append([first], { partial: true });
  await store.pin(first, [{ key: account(1), value: Uint8Array.of(11) }]);
  head = { number: first.number, hash: first.hash };
  said = [];
});

function open(timeoutMs = 60_000): RemoteState {
  return new RemoteState(store, timeoutMs, (news) => said.push(news));
}

function request(limits = ROOMY, signal = new AbortController().signal): LoadContext {
  return { client: '192.0.2.1', signal, budget: new LoadBudget(limits) };
}

describe('state for a serving thread', () => {
  it('asks the main thread for what its store does not know, and says for whom', async () => {
    const state = open();
    const values = state.load([account(1), account(2)], 7, head, request());
    await nextTurn();
    expect(said).toMatchObject([{ kind: 'load', id: 1, count: 1, client: '192.0.2.1' }]);
    state.hear({ kind: 'loaded', id: 1, values: [Uint8Array.of(22)] });
    expect(await values).toEqual([Uint8Array.of(11), Uint8Array.of(22)]);
  });

  it('gives what its store knows where nobody knows the rest, but for the first key, which is needed', async () => {
    const state = open();
    const values = state.load([account(1), account(2)], 7, head, request());
    await nextTurn();
    state.hear({ kind: 'unavailable', id: 1, reason: 'away' });
    expect(await values).toEqual([Uint8Array.of(11), undefined]);
    const needed = state.load([account(2), account(1)], 7, head, request());
    await nextTurn();
    state.hear({ kind: 'unavailable', id: 2, reason: 'away' });
    await expect(needed).rejects.toThrow(StateUnavailableError);
  });

  it('asks for no more than a request may have read, in all its parts together', async () => {
    const state = open();
    const context = request({ ...ROOMY, values: 3 });
    const first = state.load([account(2), account(3)], 7, head, context);
    await nextTurn();
    state.hear({ kind: 'loaded', id: 1, values: [Uint8Array.of(2), Uint8Array.of(3)] });
    await first;
    // What the store knows is no read, and neither is code.
    await state.load([account(1)], 7, head, context);
    const code = state.load([{ kind: 'code', hash: new Uint8Array(32) }], 7, head, context);
    await nextTurn();
    state.hear({ kind: 'loaded', id: 2, values: [Uint8Array.of(4)] });
    await code;
    await expect(state.load([account(4), account(5)], 7, head, context)).rejects.toThrow(StateLimitError);
    expect(said).toHaveLength(2);
  });

  it('counts the hash of a block below the copy for the headers that lead down to it, and no more', async () => {
    const state = open();
    const hashes: StateKey[] = [2, 4].map((below) => ({ kind: 'blockHash', number: head.number - below }));
    await expect(state.load(hashes, 7, head, request({ ...ROOMY, values: 3 }))).rejects.toThrow(
      StateLimitError,
    );
    const values = state.load(hashes, 7, head, request({ ...ROOMY, values: 4 }));
    await nextTurn();
    expect(said).toMatchObject([{ kind: 'load', count: 4 }]);
    state.hear({ kind: 'loaded', id: 1, values: [Uint8Array.of(4), Uint8Array.of(2)] });
    expect(await values).toEqual([Uint8Array.of(4), Uint8Array.of(2)]);
  });

  it('loads no more bytes than a request may have, from the store too', async () => {
    const context = request({ ...ROOMY, bytes: 1_000 });
    const state = open();
    const load = async (): Promise<void> => {
      for (let round = 0; round < 100; round++) await state.load([account(1)], 7, head, context);
    };
    await expect(load()).rejects.toThrow(StateLimitError);
  });

  it('tells the main thread when the request is over, and when it has waited for long enough', async () => {
    const gone = new AbortController();
    const state = open();
    const values = state.load([account(2)], 7, head, request(ROOMY, gone.signal));
    await nextTurn();
    gone.abort();
    await expect(values).rejects.toThrow(StateUnavailableError);
    expect(said.at(-1)).toEqual({ kind: 'cancel', id: 1 });
    // An answer that crossed it is nobody's.
    state.hear({ kind: 'loaded', id: 1, values: [Uint8Array.of(2)] });
    const late = open(1).load([account(2)], 7, head, request());
    await expect(late).rejects.toThrow('within 1 ms');
    expect(said.at(-1)).toMatchObject({ kind: 'cancel' });
    const before = said.length;
    await expect(state.load([account(2)], 7, head, request(ROOMY, gone.signal))).rejects.toThrow(
      StateUnavailableError,
    );
    expect(said).toHaveLength(before);
  });

  it('passes on that the node is overloaded', async () => {
    const state = open();
    const values = state.load([account(2)], 7, head, request());
    await nextTurn();
    state.hear({ kind: 'refused', id: 1 });
    await expect(values).rejects.toThrow(OverloadedError);
  });
});
