import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { keyText, type StateKey } from '../chain/state-key.ts';
import type { StateLoader } from '../executor/interface.ts';
import { OverloadedError, StateUnavailableError } from '../primitives/errors.ts';
import { Shares } from '../primitives/shares.ts';
import type { StateQuestion, WorkerCommand } from './messages.ts';
import { StateQuestions } from './questions.ts';

const KEY: StateKey = { kind: 'account', address: new Uint8Array(20) };

function question(
  id: number,
  client: string | undefined,
  count = 1,
): StateQuestion & { readonly id: number } {
  return { id, keys: keyText(KEY), count, number: 7, of: undefined, client };
}

function setup(load: StateLoader, capacity = 100) {
  const said: WorkerCommand[] = [];
  const shares = new Shares(capacity);
  let asked = 0;
  let refused = 0;
  const questions = new StateQuestions({
    load,
    shares,
    onAsked: () => asked++,
    onRefused: () => refused++,
    say: (order) => said.push(order),
  });
  return { questions, shares, said, asked: () => asked, refused: () => refused };
}

/** Waits until it is aborted. */
const hanging: StateLoader = (_keys, _number, _of, context) =>
  new Promise((_, reject) => {
    context?.signal.addEventListener('abort', () => reject(context.signal.reason as Error));
  });

describe('what a serving thread asks for', () => {
  it('is answered with copies, and gives its share back', async () => {
    const { questions, shares, said } = setup(() => [Buffer.from('some bytes').subarray(5), undefined]);
    await questions.ask(question(1, 'a', 2));
    expect(said).toEqual([
      { kind: 'loaded', id: 1, values: [new Uint8Array(Buffer.from('bytes')), undefined] },
    ]);
    expect(shares.taken).toBe(0);
  });

  it('is refused at once when its client has too much under way, and others are served', async () => {
    const { questions, shares, said, asked, refused } = setup(hanging);
    void questions.ask(question(1, 'greedy', 50));
    await questions.ask(question(2, 'greedy', 1));
    expect(said).toEqual([{ kind: 'refused', id: 2 }]);
    expect([asked(), refused()]).toEqual([2, 1]);
    const modest = questions.ask(question(3, 'modest', 10));
    await nextTurn();
    expect(shares.taken).toBe(60);
    questions.cancel(3);
    await modest;
    expect(said).toHaveLength(1);
  });

  it('is for the node itself when nobody asks for it, and is never refused', async () => {
    const contexts: unknown[] = [];
    const { questions, shares, said } = setup((_keys, _number, _of, context) => {
      contexts.push(context);
      return [];
    });
    shares.take('greedy', 50);
    await questions.ask(question(1, undefined, 1_000));
    expect(contexts).toEqual([undefined]);
    expect(said).toEqual([{ kind: 'loaded', id: 1, values: [] }]);
    expect(shares.taken).toBe(50);
  });

  it('is given up when the thread says so, and when it ends', async () => {
    const { questions, shares, said } = setup(hanging);
    const [one, two] = [questions.ask(question(1, 'a')), questions.ask(question(2, 'b'))];
    questions.cancel(1);
    // Of an answer that crossed it.
    questions.cancel(77);
    await one;
    expect(shares.taken).toBe(1);
    questions.cancelAll();
    await two;
    expect(shares.taken).toBe(0);
    expect(said).toEqual([]);
  });

  it('tells the thread why it cannot be had, and nothing of upstreams', async () => {
    const errors = [new StateUnavailableError('gone'), new Error('https://secret'), new OverloadedError()];
    const { questions, said } = setup(() => Promise.reject(errors.shift() ?? new Error('none left')));
    for (const id of [1, 2, 3]) await questions.ask(question(id, 'a'));
    expect(said).toEqual([
      { kind: 'unavailable', id: 1, reason: 'gone' },
      { kind: 'unavailable', id: 2, reason: 'no upstream gave the state asked for' },
      { kind: 'refused', id: 3 },
    ]);
  });
});
