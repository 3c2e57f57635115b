import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { CallRequest, CallResult, ForwardCall } from '../executor/interface.ts';
import { OverloadedError, StateUnavailableError } from '../primitives/errors.ts';
import type { Hex } from '../primitives/hex.ts';
import { Shares } from '../primitives/shares.ts';
import { CallQuestions } from './call-questions.ts';
import type { WorkerEvent } from './messages.ts';
import { RemoteCalls } from './remote-calls.ts';

const HASH: Hex = `0x${'11'.repeat(32)}`;
const REQUEST: CallRequest = { to: `0x${'22'.repeat(20)}`, gas: '0x5208' };

/** A serving thread and the main thread, with what one says to the other carried over. */
function connect(forward: ForwardCall | undefined, { capacity = 100, timeoutMs = 5_000 } = {}) {
  const shares = new Shares(capacity);
  const heard: WorkerEvent['kind'][] = [];
  let refused = 0;
  const calls: RemoteCalls = new RemoteCalls(timeoutMs, (news) => {
    heard.push(news.kind);
    if (news.kind === 'forward') void questions.ask(structuredClone(news));
    if (news.kind === 'cancelForward') questions.cancel(news.id);
  });
  const questions = new CallQuestions({
    forward,
    shares,
    onRefused: () => refused++,
    say: (order) => {
      if (order.kind === 'forwarded') calls.hear(structuredClone(order));
    },
  });
  const ask = (signal = new AbortController().signal): Promise<CallResult> =>
    calls.forward(REQUEST, HASH, { client: 'a', signal });
  return { ask, shares, heard, refused: () => refused, questions };
}

const hanging: ForwardCall = (_request, _hash, { signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

describe('a call that enters a native contract (B17)', () => {
  it('is asked of the main thread, and its share given back', async () => {
    const seen: unknown[] = [];
    const { ask, shares } = connect(async (request, hash, { client }) => {
      seen.push([request, hash, client]);
      return { kind: 'success', output: '0x01' };
    });
    expect(await ask()).toEqual({ kind: 'success', output: '0x01' });
    expect(seen).toEqual([[REQUEST, HASH, 'a']]);
    expect(shares.taken).toBe(0);
  });

  it('fails in words when nobody runs it', async () => {
    await expect(connect(undefined).ask()).rejects.toThrow('is not forwarded');
    const unavailable = connect(() => Promise.reject(new StateUnavailableError('no upstream')));
    await expect(unavailable.ask()).rejects.toThrow('no upstream');
    const broken = connect(() => Promise.reject(new Error('a secret')));
    await expect(broken.ask()).rejects.toThrow('no upstream ran the call');
  });

  it('is refused when its client has too much under way, or the upstreams have', async () => {
    const small = connect(hanging, { capacity: 1 });
    await expect(small.ask()).rejects.toThrow(OverloadedError);
    const busy = connect(() => Promise.reject(new OverloadedError()));
    await expect(busy.ask()).rejects.toThrow(OverloadedError);
    expect([small.refused(), busy.refused()]).toEqual([1, 1]);
  });

  it('is given up when nobody waits for it, when it takes too long, and when its thread ends', async () => {
    const { ask, heard, shares, questions } = connect(hanging, { timeoutMs: 20 });
    const client = new AbortController();
    const asked = ask(client.signal);
    client.abort();
    await expect(asked).rejects.toThrow('nobody waits');
    await expect(ask(client.signal)).rejects.toThrow('nobody waits');
    await expect(ask()).rejects.toThrow('within 20 ms');
    expect(heard).toEqual(['forward', 'cancelForward', 'forward', 'cancelForward']);
    const last = ask();
    questions.cancelAll();
    await expect(last).rejects.toThrow('within 20 ms');
    await nextTurn();
    expect(shares.taken).toBe(0);
  });
});
