import type { ForwardCall } from '../../../src/executor/interface.ts';
import type { Head } from '../../../src/head/head.ts';
import type { Method, MethodSettings } from '../../../src/methods/method.ts';
import { LoadBudget } from '../../../src/primitives/load-budget.ts';
import { type FakeCall, FakeChain } from './head.ts';

/** For tests only. */
export const testSettings: MethodSettings = {
  chainId: 1n,
  clientVersion: 'chain-query/test',
  compat: false,
  gasCap: 50_000_000n,
  callTimeLimitMs: 5_000,
  logs: {
    maxBlockRange: { blocks: 2_000, ms: 0 },
    maxResults: 10_000,
    maxAddresses: 1_000,
    maxTopics: 1_000,
    maxResponseBytes: 10 << 20,
    timeLimitMs: 10_000,
  },
  loads: { values: 2_000, bytes: 16 << 20 },
};

interface RunOptions {
  readonly chain?: FakeChain;
  /** Of a chain that goes on between runs. */
  readonly head?: Head;
  readonly settings?: Partial<MethodSettings>;
  readonly call?: FakeCall;
  readonly signal?: AbortSignal;
  readonly forward?: ForwardCall;
}

/** For tests only: runs a method on a chain of five blocks with 0 to 4 logs, and gives back its parsed result. */
export async function runMethod(
  method: Method,
  params: readonly unknown[],
  options: RunOptions = {},
): Promise<unknown> {
  const chain = options.chain ?? new FakeChain().add(0).add(1).add(2).add(3).add(4);
  const head = options.head ?? (await chain.head(options.call));
  const { signal = new AbortController().signal } = options;
  const json = await method.handle(params, {
    snapshot: head.snapshot(),
    settings: { ...testSettings, ...options.settings },
    signal,
    get isOver() {
      return signal.aborted;
    },
    client: 'test',
    budget: new LoadBudget(testSettings.loads),
    session: undefined,
    forward: options.forward,
    whenSettled: (effect) => effect(true),
  });
  return JSON.parse(json.toString());
}
