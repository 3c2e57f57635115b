import type { PassOn } from '../chain/pass-on.ts';
import type { ChainFacts } from '../executor/chain-facts.ts';
import type { ForwardCall } from '../executor/interface.ts';
import type { NativeExecutor } from '../executor/native-executor.ts';
import type { FeeReader } from '../head/fees.ts';
import type { ReceiptWaiters } from '../head/receipt-waiters.ts';
import type { Snapshot } from '../head/snapshot.ts';
import type { BlockSpan } from '../primitives/block-span.ts';
import { InvalidParamsError } from '../primitives/errors.ts';
import type { Awaitable } from '../primitives/hex.ts';
import type { LoadBudget, LoadLimits } from '../primitives/load-budget.ts';
import type { ChainConfig } from '../rules/row.ts';

/** JSON text that is served as it is: a string, or its UTF-8 bytes where they are kept that way. */
export type RawJson = string | Buffer;

/** What eth_getLogs may cost on one kind of endpoint. */
export interface LogLimits {
  /** `to − from` at most. */
  readonly maxBlockRange: BlockSpan;
  readonly maxResults: number;
  readonly maxAddresses: number;
  /** Alternatives at one topic position. */
  readonly maxTopics: number;
  readonly maxResponseBytes: number;
  readonly timeLimitMs: number;
}

/** What methods use beside a snapshot: one of each for a serving thread. */
export interface NodeServices {
  /** What the rules of the chain say of headers and transactions. */
  readonly facts: Pick<ChainFacts, 'fees' | 'isOpStack' | 'readTransaction'>;
  readonly fees: FeeReader;
  /** Those who wait for the receipt of what they sent. */
  readonly receipts: ReceiptWaiters;
  /** Has others answer what only they can. */
  readonly passOn: PassOn;
  /** Whether there is anybody to send transactions to. */
  readonly canSend: boolean;
  /** Proves accounts and slots, where the state is complete. */
  readonly prover: Pick<NativeExecutor, 'prove'>;
  readonly chainConfig: ChainConfig;
}

/** How long eth_sendRawTransactionSync waits. */
export interface SyncLimits {
  readonly timeoutMs: number;
  /** The most that a client may ask for. */
  readonly maxTimeoutMs: number;
}

/** What one eth_simulateV1 may cost. */
export interface SimulationLimits {
  /** Those that fill gaps included. */
  readonly maxBlocks: number;
  readonly maxCalls: number;
  /** Of all calls together. */
  readonly gas: number;
  readonly maxResponseBytes: number;
  /** The limit the executor applies; here for the words of its error. */
  readonly timeLimitMs: number;
}

/** What all methods of one listener share. */
export interface MethodSettings {
  readonly chainId: bigint;
  readonly clientVersion: string;
  /** `--compat execution-apis`: the standard's rules where the contract's part A differs. */
  readonly compat: boolean;
  readonly gasCap: bigint;
  /** The limit the executor applies; here for the words of its error. */
  readonly callTimeLimitMs: number;
  readonly logs: LogLimits;
  /** Blocks of one eth_feeHistory. */
  readonly maxFeeHistoryBlocks: number;
  readonly sync: SyncLimits;
  /** How many blocks are kept, where that is how history is bounded. */
  readonly keptBlocks: number | undefined;
  /** `--pool-nonce`: the `pending` nonce of an account counts what waits in pools. */
  readonly poolNonce: boolean;
  readonly services: NodeServices;
  readonly simulation: SimulationLimits;
  /** State that one request may have loaded. */
  readonly loads: LoadLimits;
}

/** What one request runs with. */
export interface MethodContext {
  readonly snapshot: Snapshot;
  readonly settings: MethodSettings;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
  /** Whether nobody waits for the answer any more, for whoever only looks now and then. */
  readonly isOver: boolean;
  /** Who asks, for what is shared out among clients: a remote address, or one WebSocket connection. */
  readonly client: string;
  /** Takes more of what its client may use, in units: for what was found to cost more than it seemed to. */
  charge(units: number): void;
  /** What the request may still have loaded; all entries of a batch share it. */
  readonly budget: LoadBudget;
  /**
   * Has something done once it is decided whether the answer has the result of this call: not when the request is run again, refused or
   * out of time, or its client is gone.
   */
  whenSettled(effect: (isAnswered: boolean) => void): void;
  /** Has an upstream run a call, and names it as the source of the answer; absent where such calls are refused. */
  readonly forward: ForwardCall | undefined;
  /** Names an upstream as the source of the answer. */
  namesUpstream(): void;
  /** Names another snapshot as what the answer is read from. */
  answerFrom(snapshot: Snapshot): void;
  /** What the request does to the subscriptions of its connection; absent where there can be none. */
  readonly session: object | undefined;
}

/** A JSON Schema, as far as the docs and OpenRPC need one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ParamDoc {
  readonly name: string;
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

export interface ResultDoc {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
}

/** A cost that goes by what is asked for. */
export interface VariableCost {
  /** For the docs: how many units, and of what. */
  readonly words: string;
  /** Of parameters that nobody has checked; `head` is the newest block. */
  of(params: readonly unknown[], head: number): number;
}

/** One JSON-RPC method: how its parameters are read, what it does, and what its documentation says. */
export interface Method {
  readonly name: string;
  readonly summary: string;
  /** Rules of the contract that define it. */
  readonly rules: readonly string[];
  /** Refused on a public listener (B9). */
  readonly dedicatedOnly?: true;
  /** What a call takes of the rate of its client, in units: 1, a read of one value, unless it says more. */
  readonly cost?: number | VariableCost;
  readonly params: readonly ParamDoc[];
  /** Its parameters are somebody else's affair. */
  readonly takesAnything?: true;
  readonly result: ResultDoc;
  /** Where the answer comes from, where that is not our own copy alone. */
  readonly source?: string;
  handle(params: readonly unknown[], context: MethodContext): Awaitable<RawJson>;
}

/** Positional parameters of a request, counted as geth counts them. */
export function checkParamCount(method: Method, params: readonly unknown[]): void {
  if (method.takesAnything === true) return;
  if (params.length > method.params.length) {
    throw new InvalidParamsError(`too many arguments, want at most ${method.params.length}`);
  }
  for (const [index, param] of method.params.entries()) {
    if (param.required && (params[index] === undefined || params[index] === null)) {
      throw new InvalidParamsError(`missing value for required argument ${index}`);
    }
  }
}
