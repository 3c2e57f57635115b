import { describe, expect, it } from 'vitest';
import { ask, testDispatcher, textOf } from '../../../test/support/serve/dispatcher.ts';
import type { FakeCall } from '../../../test/support/serve/head.ts';
import type { CallResult } from '../../executor/interface.ts';
import type { Dispatcher } from './dispatcher.ts';

const MAX_BYTES = 10_000;
const TO = `0x${'11'.repeat(20)}`;
const call = (id: unknown = 1): object => ({
  jsonrpc: '2.0',
  id,
  method: 'eth_call',
  params: [{ to: TO }, 'latest'],
});

interface Entry {
  readonly id: unknown;
  readonly result?: string;
  readonly error?: { readonly code: number; readonly message: string };
}

async function dispatcherThat(answer: FakeCall, maxResponseBytes = MAX_BYTES): Promise<Dispatcher> {
  return testDispatcher({ maxResponseBytes }, undefined, answer);
}

const output = (kind: 'success' | 'revert', bytes: number): CallResult => ({
  kind,
  output: `0x${'ab'.repeat(bytes)}`,
});

describe('every answer stays within the limit', () => {
  it.each(['success', 'revert'] as const)('of one call that ends in %s', async (kind) => {
    for (const bytes of [4_000, 4_950, 5_000, 50_000]) {
      const { text } = await ask(await dispatcherThat(() => output(kind, bytes)), JSON.stringify(call(7)));
      expect(text.length).toBeLessThanOrEqual(MAX_BYTES);
      const entry = JSON.parse(text) as Entry;
      expect(entry.id).toBe(7);
      if (bytes >= 5_000) expect(entry.error?.code).toBe(-32003);
      else expect(entry.error?.code).toBe(kind === 'revert' ? -32000 : undefined);
    }
  });

  it.each(['success', 'revert'] as const)('of a batch of calls that end in %s', async (kind) => {
    let calls = 0;
    const dispatcher = await dispatcherThat(() => {
      calls++;
      return output(kind, 1_000);
    });
    const batch = JSON.stringify(Array.from({ length: 40 }, (_, id) => call(id)));
    const { text } = await ask(dispatcher, batch);
    expect(text.length).toBeLessThanOrEqual(MAX_BYTES);
    const entries = JSON.parse(text) as readonly Entry[];
    expect(entries.map(({ id }) => id)).toEqual(Array.from({ length: 40 }, (_, id) => id));
    expect(entries.filter(({ error }) => error?.code !== -32003).length).toBeGreaterThan(1);
    // What could not be sent is not worked out either.
    expect(calls).toBeLessThan(14);
  });

  it('of one call in a batch, whose others are answered', async () => {
    let calls = 0;
    const dispatcher = await dispatcherThat(() => output('success', calls++ === 1 ? MAX_BYTES : 32));
    const { text } = await ask(dispatcher, JSON.stringify([0, 1, 2, 3].map(call)));
    const codes = (JSON.parse(text) as readonly Entry[]).map(({ error }) => error?.code);
    expect(codes).toEqual([undefined, -32003, undefined, undefined]);
  });

  it('of ids that are as long as a body', async () => {
    const id = 'x'.repeat(2 * MAX_BYTES);
    const dispatcher = await dispatcherThat(() => output('success', 1));
    for (const body of [call(id), [call(id), call(id)]]) {
      const { text } = await ask(dispatcher, JSON.stringify(body));
      expect(JSON.parse(text)).toMatchObject({ id: null, error: { code: -32003 } });
    }
  });
});

describe('a request has a time to be answered in', () => {
  const caller = { signal: new AbortController().signal, client: 'test' };

  it('and what still works on it hears that it can stop', async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const never: FakeCall = (_, context) => {
      signals.push(context?.signal);
      return new Promise(() => {});
    };
    const dispatcher = await testDispatcher({ answerTimeoutMs: 20 }, undefined, never);
    const response = await dispatcher.handle(Buffer.from(JSON.stringify([call(1), call(2)])), caller);
    expect(JSON.parse(textOf(response.body))).toEqual(
      [1, 2].map((id) => ({
        jsonrpc: '2.0',
        id,
        error: { code: -32000, message: 'request exceeded the time limit of 0.02 s' },
      })),
    );
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true]);
  });

  it('and leaves nothing behind on its connection', async () => {
    const connection = new AbortController();
    let listeners = 0;
    const { signal } = connection;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(signal, args);
    };
    const dispatcher = await testDispatcher({}, undefined, async (_, own) => {
      expect(own?.signal?.aborted).toBe(false);
      await new Promise(setImmediate);
      return output('success', 1);
    });
    for (let sent = 0; sent < 5; sent++) {
      await dispatcher.handle(Buffer.from(JSON.stringify(call(1))), { signal, client: 'test' });
    }
    expect(listeners).toBe(0);
  });
});
