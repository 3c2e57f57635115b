import { beforeAll, describe, expect, it } from 'vitest';
import {
  asClient,
  executeOfficialChain,
  loadFrom,
  readSlots,
  restoreLast,
  type roomyOptions,
  runCode,
} from '../../test/support/serve/executor.ts';
import type { Outcome } from '../chain/outcome.ts';
import type { CallResult, StateView } from './interface.ts';
import type { NativeExecutor } from './native-executor.ts';

let outcomes: readonly Outcome[];
beforeAll(async () => {
  outcomes = await executeOfficialChain();
});

/** JUMPDEST; PUSH1 0; JUMP: it ends when its gas does, and with this much gas that takes long. */
const endless = { ...runCode('0x5b600056'), gas: '0xffffffffffff' } as const;
/** Counts down from 100,000: too long for a serving thread, short for the pool. */
const long = runCode('0x620186a05b6001900380600457602060005260206000f3');

function setup(options: Partial<typeof roomyOptions> = {}): { executor: NativeExecutor; view: StateView } {
  const executor = restoreLast(outcomes, loadFrom(outcomes), { callInlineSteps: 1_000, ...options });
  return { executor, view: executor.view(outcomes.at(-1)?.header ?? new Uint8Array()) };
}

describe('a call that is too long for a serving thread', () => {
  it('is run in the pool', async () => {
    const { executor, view } = setup();
    const answer = view.call(long);
    expect(answer).toBeInstanceOf(Promise);
    expect(await answer).toEqual({ kind: 'success', output: `0x${'20'.padStart(64, '0')}` });
    expect(executor.sizes().pooledCalls).toBeLessThanOrEqual(1);
  });

  it('loads what is missing there too', async () => {
    const { view } = setup({ callInlineSteps: 1 });
    expect(await view.call(readSlots(50))).toEqual({ kind: 'success', output: '0x' });
  });

  it('ends at its time limit', async () => {
    const { view } = setup({ callTimeLimitMs: 50 });
    const started = performance.now();
    expect(await view.call(endless)).toEqual({ kind: 'timeout' });
    expect(performance.now() - started).toBeLessThan(3_000);
  });

  it('counts the time that it waits for its turn', async () => {
    const { view } = setup({ callTimeLimitMs: 100 });
    const started = performance.now();
    const answers = await Promise.all([view.call(endless), view.call(endless), view.call(endless)]);
    expect(answers).toEqual(Array.from({ length: 3 }, () => ({ kind: 'timeout' })));
    expect(performance.now() - started).toBeLessThan(3_000);
  });

  it('ends when it is cancelled, before and while it runs', async () => {
    const { view } = setup({ callTimeLimitMs: 60_000 });
    expect(await view.call(endless, asClient(AbortSignal.abort()))).toEqual({ kind: 'cancelled' });
    const clients = Array.from({ length: 4 }, () => new AbortController());
    const answers = clients.map(async ({ signal }) => view.call(endless, asClient(signal)));
    // One runs, three wait for it.
    for (const client of clients) client.abort();
    expect(await Promise.all(answers)).toEqual(clients.map(() => ({ kind: 'cancelled' })));
  });

  it('leaves no listener on the signal of a connection that serves on', async () => {
    const { view } = setup();
    const { signal } = new AbortController();
    let listeners = 0;
    const counted = new Proxy(signal, {
      get(target, name) {
        if (name === 'addEventListener') listeners++;
        if (name === 'removeEventListener') listeners--;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    for (let call = 0; call < 20; call++) await view.call(long, asClient(counted));
    expect(listeners).toBe(0);
  });

  it('is refused at once when the pool is full, and accepted again afterwards', async () => {
    const { view } = setup({ poolThreads: 1, poolQueue: 2, callTimeLimitMs: 60_000 });
    const client = new AbortController();
    const answers: Promise<CallResult>[] = [];
    for (let call = 0; call < 10; call++) {
      answers.push(Promise.resolve(view.call(endless, asClient(client.signal))));
    }
    // Said while the first ones still run: they would for a minute.
    expect(await answers.at(-1)).toEqual({ kind: 'overloaded' });
    client.abort();
    const kinds = (await Promise.all(answers)).map(({ kind }) => kind);
    // Of the two places a client leaves one to others; the first call may have left it for the thread by then, or not.
    const accepted = kinds.filter((kind) => kind === 'cancelled').length;
    expect([1, 2]).toContain(accepted);
    expect(kinds.filter((kind) => kind === 'overloaded')).toHaveLength(10 - accepted);
    expect(await view.call(long)).toMatchObject({ kind: 'success' });
  });
});
