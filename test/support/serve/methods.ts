import type { ChainFacts, SignedTransaction } from '../../../src/executor/chain-facts.ts';
import type { ForwardCall } from '../../../src/executor/interface.ts';
import { FeeReader } from '../../../src/head/fees.ts';
import type { Head } from '../../../src/head/head.ts';
import { ReceiptWaiters } from '../../../src/head/receipt-waiters.ts';
import type { Method, MethodContext, MethodSettings, NodeServices } from '../../../src/methods/method.ts';
import { LoadBudget } from '../../../src/primitives/load-budget.ts';
import { type FakeCall, FakeChain } from './head.ts';

const ZERO_ADDRESS = `0x${'0'.repeat(40)}` as const;

/** For tests only: block `n` of a chain has a base fee of `n` wei, used `n` tenths of its gas, and is built by nobody. */
export const testFacts: Pick<ChainFacts, 'fees' | 'isOpStack' | 'readTransaction'> = {
  isOpStack: false,
  fees: ([number = 0]) => ({
    beneficiary: ZERO_ADDRESS,
    gasUsed: number * 21_000,
    gasLimit: 210_000,
    baseFee: BigInt(number),
    nextBaseFee: BigInt(number + 1),
    blobs: { gasUsed: number, maxGas: 8, fee: 1n, nextFee: 2n },
  }),
  readTransaction: (bytes) => (bytes.length === 0 ? 'typed transaction too short' : TEST_TRANSACTION),
};

/** For tests only. */
const TEST_TRANSACTION: SignedTransaction = {
  hash: `0x${'0'.repeat(63)}2`,
  from: `0x${'5e'.repeat(20)}`,
  nonce: 7,
};

/** For tests only. */
const nobody = async (): Promise<never> => {
  throw new Error('nothing is passed on in this test');
};

/** For tests only. */
export const testServices: NodeServices = {
  facts: testFacts,
  fees: new FeeReader(testFacts),
  receipts: new ReceiptWaiters({ read: nobody }, { max: 0 }),
  passOn: nobody,
  canSend: false,
  prover: { prove: async () => undefined },
  chainConfig: { chainId: 1 },
};

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
  simulation: {
    maxBlocks: 256,
    maxCalls: 1_000,
    gas: 50_000_000,
    maxResponseBytes: 10 << 20,
    timeLimitMs: 5_000,
  },
  loads: { values: 2_000, bytes: 16 << 20 },
  maxFeeHistoryBlocks: 1_024,
  sync: { timeoutMs: 2_000, maxTimeoutMs: 10_000 },
  poolNonce: false,
  keptBlocks: undefined,
  services: testServices,
};

interface RunOptions {
  readonly chain?: FakeChain;
  /** Of a chain that goes on between runs. */
  readonly head?: Head;
  readonly settings?: Partial<MethodSettings>;
  readonly call?: FakeCall;
  readonly signal?: AbortSignal;
  readonly forward?: ForwardCall | undefined;
}

/** For tests only: runs a method on a chain of five blocks with 0 to 4 logs, and gives back its parsed result. */
export async function runMethod(
  method: Method,
  params: readonly unknown[],
  options: RunOptions = {},
): Promise<unknown> {
  const chain = options.chain ?? new FakeChain().add(0).add(1).add(2).add(3).add(4);
  const head = options.head ?? (await chain.head(options.call));
  const json = await method.handle(params, testContext(head, options));
  return JSON.parse(json.toString());
}

/** For tests only: what one request runs with. */
export function testContext(head: Head, options: RunOptions = {}): MethodContext {
  const { signal = new AbortController().signal } = options;
  return {
    snapshot: head.snapshot(),
    settings: { ...testSettings, ...options.settings },
    signal,
    get isOver() {
      return signal.aborted;
    },
    client: 'test',
    charge: () => {},
    budget: new LoadBudget(testSettings.loads),
    session: undefined,
    answerFrom: () => {},
    namesUpstream: () => {},
    forward: options.forward,
    whenSettled: (effect) => effect(true),
  };
}
