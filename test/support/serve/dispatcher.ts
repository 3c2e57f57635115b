import type { Head } from '../../../src/head/head.ts';
import { createMethods } from '../../../src/methods/registry.ts';
import {
  Dispatcher,
  type DispatcherModules,
  type DispatcherOptions,
} from '../../../src/rpc/dispatch/dispatcher.ts';
import type { ResponseBody } from '../../../src/rpc/dispatch/framing.ts';
import { ClientMemory, newClientMemoryShares } from '../../../src/rpc/limits/client-memory.ts';
import { SUBSCRIPTION_METHODS } from '../../../src/subscriptions/subscribe-methods.ts';
import { type FakeCall, FakeChain } from './head.ts';
import { testSettings } from './methods.ts';

/** For tests only: a dispatcher over a chain of five blocks with 0, 1, 2, 3 and 4 logs. */
export async function testDispatcher(
  options: Partial<DispatcherOptions> = {},
  chain: FakeChain = new FakeChain().add(0).add(1).add(2).add(3).add(4),
  call?: FakeCall,
): Promise<Dispatcher> {
  return dispatcherOf(await chain.head(call), options);
}

/** For tests only: a dispatcher over a head that the test moves. */
export function dispatcherOf(
  head: Head,
  options: Partial<DispatcherOptions> = {},
  modules: Partial<DispatcherModules> = {},
): Dispatcher {
  return new Dispatcher(
    {
      settings: testSettings,
      maxBatch: 100,
      maxResponseBytes: 10 << 20,
      forbidden: new Set(),
      ...options,
    },
    { head, methods: createMethods('0.0.0-test', SUBSCRIPTION_METHODS), ...modules },
  );
}

/** Sends text and gives back status and text. */
export async function ask(
  dispatcher: Dispatcher,
  text: string | Buffer,
): Promise<{ status: number; text: string }> {
  const body = typeof text === 'string' ? Buffer.from(text) : text;
  const response = await dispatcher.handle(body, { signal: new AbortController().signal, client: 'test' });
  return { status: response.status, text: textOf(response.body) };
}

/** For tests only: memory for clients, of one worker. */
export function testMemory(maxBytes = 2 ** 40, sendTimeoutMs = 60_000): ClientMemory {
  return new ClientMemory({ maxBytes, sendTimeoutMs }, { shares: newClientMemoryShares(1), workerIndex: 0 });
}

/** A body as one text. */
export function textOf(body: ResponseBody | undefined): string {
  if (body === undefined) return '';
  return typeof body === 'string' ? body : Buffer.concat(body).toString();
}
