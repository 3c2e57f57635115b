import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { PassedAnswer, PassedRequest, PassOn } from '../chain/pass-on.ts';
import { OverloadedError, StateUnavailableError } from '../primitives/errors.ts';
import { Shares } from '../primitives/shares.ts';
import type { WorkerEvent } from './messages.ts';
import { PassQuestions } from './pass-questions.ts';
import { RemotePasses } from './remote-passes.ts';

const REQUEST: PassedRequest = { kind: 'request', method: 'eth_x', params: [1] };

/** A serving thread and the main thread, with what one says to the other carried over. */
function connect(passOn: PassOn | undefined, capacity = 100) {
  const shares = new Shares(capacity);
  const heard: WorkerEvent['kind'][] = [];
  const passes: RemotePasses = new RemotePasses(5_000, (news) => {
    heard.push(news.kind);
    if (news.kind === 'pass') void questions.ask(structuredClone(news));
    if (news.kind === 'cancelPass') questions.cancel(news.id);
  });
  const questions = new PassQuestions({
    passOn,
    shares,
    onRefused: () => {},
    say: (order) => {
      if (order.kind === 'passed') passes.hear(structuredClone(order));
    },
  });
  const ask = (signal = new AbortController().signal, request = REQUEST): Promise<PassedAnswer> =>
    passes.passOn(request, { client: 'a', signal });
  return { ask, shares, heard, questions };
}

const hanging: PassOn = (_request, { signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

describe('a request that others answer', () => {
  it('is asked of the main thread, and its share given back', async () => {
    const seen: unknown[] = [];
    const { ask, shares } = connect(async (request, { client }) => {
      seen.push([request, client]);
      return { kind: 'result', json: '1' };
    });
    expect(await ask()).toEqual({ kind: 'result', json: '1' });
    expect(seen).toEqual([[REQUEST, 'a']]);
    expect(shares.taken).toBe(0);
  });

  it('fails in words when nobody answers', async () => {
    await expect(connect(undefined).ask()).rejects.toThrow('nothing is passed on');
    const none = connect(() => Promise.reject(new StateUnavailableError('no upstream')));
    await expect(none.ask()).rejects.toThrow('no upstream');
    const broken = connect(() => Promise.reject(new Error('a secret')));
    await expect(broken.ask()).rejects.toThrow('no upstream answered');
  });

  it('is refused when there is too much under way', async () => {
    await expect(connect(hanging, 4).ask()).rejects.toThrow(OverloadedError);
    const busy = connect(() => Promise.reject(new OverloadedError()));
    await expect(busy.ask()).rejects.toThrow(OverloadedError);
  });

  it('weighs what it has read', async () => {
    const gone = new AbortController();
    const { ask, shares } = connect(hanging, 2_048);
    const large = { ...REQUEST, keys: 1_024 };
    const first = ask(gone.signal, large);
    await nextTurn();
    expect(shares.taken).toBe(516);
    await expect(ask(gone.signal, large)).rejects.toThrow(OverloadedError);
    const small = ask(gone.signal);
    gone.abort();
    await Promise.allSettled([first, small]);
    await nextTurn();
    expect(shares.taken).toBe(0);
  });

  it('is given up when nobody waits for it, and with its thread', async () => {
    const gone = new AbortController();
    const { ask, heard, shares, questions } = connect(hanging);
    const asked = ask(gone.signal);
    gone.abort();
    await expect(asked).rejects.toThrow('nobody waits for it');
    await nextTurn();
    expect(heard).toEqual(['pass', 'cancelPass']);
    expect(shares.taken).toBe(0);
    ask().catch(() => {});
    questions.cancelAll();
    await nextTurn();
    expect(shares.taken).toBe(0);
  });
});
