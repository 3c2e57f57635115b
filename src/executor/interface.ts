import type { BlockRef, EncodedOutcome, Outcome } from '../chain/outcome.ts';
import type { StateKey } from '../chain/state-key.ts';
import type { Awaitable, Hex } from '../primitives/hex.ts';
import type { LoadBudget } from '../primitives/load-budget.ts';

/** The request that state is loaded for: loading ends with it, and counts against what it and its client may have. */
export interface LoadContext {
  /** Who asks: clients share out what may be read from upstreams at the same time. */
  readonly client: string;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Absent where somebody else counts. */
  readonly budget?: LoadBudget | undefined;
}

/**
 * Loads what the native core misses, as of block `number`; `undefined` for a key means it cannot be known. With
 * `of`, the answer is for that block, and must be refused once that block is not canonical any more. Without a context
 * it is loaded for the node itself.
 */
export type StateLoader = (
  keys: readonly StateKey[],
  number: number,
  of: BlockRef | undefined,
  context?: LoadContext,
) => Awaitable<readonly (Uint8Array | undefined)[]>;

/** A call, checked and normalised: every quantity is minimal hex, every byte string even-length hex. */
export interface CallRequest {
  readonly from?: Hex;
  /** Absent: contract creation. */
  readonly to?: Hex;
  /** Already clamped to the gas cap. */
  readonly gas: Hex;
  readonly gasPrice?: Hex;
  readonly maxFeePerGas?: Hex;
  readonly maxPriorityFeePerGas?: Hex;
  readonly value?: Hex;
  readonly data?: Hex;
  readonly accessList?: readonly { readonly address: Hex; readonly storageKeys: readonly Hex[] }[];
  readonly authorizationList?: readonly {
    readonly chainId: Hex;
    readonly address: Hex;
    readonly nonce: Hex;
    readonly yParity: Hex;
    readonly r: Hex;
    readonly s: Hex;
  }[];
  readonly blobVersionedHashes?: readonly Hex[];
  readonly maxFeePerBlobGas?: Hex;
  readonly stateOverrides?: Readonly<Record<Hex, AccountOverride>>;
  readonly blockOverrides?: BlockOverrides;
}

/** `state` replaces the whole storage, `stateDiff` merges per slot; never both. */
export interface AccountOverride {
  readonly balance?: Hex;
  readonly nonce?: Hex;
  readonly code?: Hex;
  readonly state?: Readonly<Record<Hex, Hex>>;
  readonly stateDiff?: Readonly<Record<Hex, Hex>>;
}

/** The block context a call may pretend. */
export interface BlockOverrides {
  readonly number?: Hex;
  readonly difficulty?: Hex;
  readonly time?: Hex;
  readonly gasLimit?: Hex;
  readonly feeRecipient?: Hex;
  readonly prevRandao?: Hex;
  readonly baseFeePerGas?: Hex;
  readonly blobBaseFee?: Hex;
}

/** What a call gave back; where that is long, the bytes of its JSON, quotes included. */
export type Output = Hex | Buffer;

/** How a call ended. `halt` is an EVM fault such as out of gas; `invalid` a call that could not start. */
export type CallResult =
  | { readonly kind: 'success'; readonly output: Output }
  | { readonly kind: 'revert'; readonly output: Output }
  | { readonly kind: 'halt'; readonly message: string }
  | { readonly kind: 'invalid'; readonly message: string }
  /** It entered a native contract, which nothing here can run. */
  | { readonly kind: 'native'; readonly address: Hex }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'cancelled' }
  /** The pool of long calls is full. */
  | { readonly kind: 'overloaded' };

/** What is asked about a call beside what it returns. */
export type Query =
  /** The least gas that it succeeds with, of so much at most. A gas of zero is one that was not given. */
  | { readonly estimate: number }
  /** What it touches, as an access list. */
  | 'accessList'
  | { readonly trace: TraceOptions };

/** What is traced, and bytes of the trace at most. */
export interface TraceOptions {
  readonly tracer:
    | { readonly structLogger: Readonly<Record<string, boolean | number>> }
    | { readonly callTracer: Readonly<Record<string, boolean>> }
    | { readonly prestateTracer: Readonly<Record<string, boolean>> }
    | '4byteTracer'
    | 'noopTracer';
  readonly maxBytes: number;
}

/** What of a block is traced: all its transactions, one, or a call after so many of them. */
export interface Traced {
  readonly transaction?: number;
  readonly call?: { readonly after: number; readonly request: CallRequest };
  /** How many pre-confirmed blocks, the traced one included, this state is ahead of the block's parent. */
  readonly ahead?: number;
}

/** How a query ended. `answer` is JSON. */
export type QueryResult =
  | Exclude<CallResult, { readonly kind: 'success' }>
  | { readonly kind: 'answer'; readonly json: string | Buffer };
/** A simulation, checked and normalised as a call is. */
export interface SimulationRequest {
  readonly blocks: readonly SimulatedBlock[];
  readonly traceTransfers: boolean;
  readonly validation: boolean;
  readonly returnFullTransactions: boolean;
  /** Seconds between blocks, for chains that have others than Ethereum's. */
  readonly blockTime: number;
  readonly limits: {
    /** The highest block above the one it begins at. */
    readonly blocks: number;
    /** Of all calls together. */
    readonly gas: number;
    /** Of the answer. */
    readonly bytes: number;
  };
}

export interface SimulatedBlock {
  readonly blockOverrides?: SimulatedBlockOverrides;
  readonly stateOverrides?: Readonly<Record<Hex, SimulatedAccountOverride>>;
  readonly calls?: readonly SimulatedCall[];
}

/** `gas` and `nonce` are filled in where they are absent. */
export type SimulatedCall = Omit<CallRequest, 'gas' | 'stateOverrides' | 'blockOverrides'> & {
  readonly gas?: Hex;
  readonly nonce?: Hex;
};

export interface SimulatedAccountOverride extends AccountOverride {
  readonly movePrecompileToAddress?: Hex;
}

export interface SimulatedBlockOverrides extends BlockOverrides {
  readonly beaconRoot?: Hex;
  readonly withdrawals?: readonly {
    readonly index: Hex;
    readonly validatorIndex: Hex;
    readonly address: Hex;
    readonly amount: Hex;
  }[];
}

/** How a simulation ended; `json` is the array of its blocks. */
export type SimulationResult =
  | { readonly kind: 'done'; readonly json: string | Buffer }
  | { readonly kind: 'refused'; readonly code: number; readonly message: string }
  | Extract<CallResult, { readonly kind: 'native' | 'timeout' | 'cancelled' | 'overloaded' }>;

/** A nonce or, with `slot`, a value of storage that is not known here. */
export interface ForwardedRead {
  readonly read: 'nonce' | 'balance' | 'code' | 'slot';
  readonly address: Hex;
  readonly slot?: Hex;
}

/**
 * Has a call run, or state read, by somebody who knows the rules, after the block with this hash. Rejects with
 * `StateUnavailableError` when nobody does, and with `OverloadedError`.
 */
export type ForwardCall = (
  request: CallRequest | ForwardedRead,
  blockHash: Hex,
  context: LoadContext,
) => Promise<CallResult>;

/** The state after one block, and the context of that block. Immutable: an answer from it is always of this block. */
export interface StateView {
  readonly ref: BlockRef;
  readonly timestamp: number;
  transactionCount(address: Hex, context?: LoadContext): Awaitable<Hex>;
  /** Both are quantities, and zero where there is no account. */
  account(address: Hex, context?: LoadContext): Awaitable<{ readonly nonce: Hex; readonly balance: Hex }>;
  balance(address: Hex, context?: LoadContext): Awaitable<Hex>;
  /** Empty where there is none. */
  code(address: Hex, context?: LoadContext): Awaitable<Hex>;
  /** 32 bytes. `slot` is 32 bytes of hex. */
  storageAt(address: Hex, slot: Hex, context?: LoadContext): Awaitable<Hex>;
  call(request: CallRequest, context?: LoadContext): Awaitable<CallResult>;
  /** Runs a call as often as the answer takes, within the limits of one. */
  query(query: Query, request: CallRequest, context?: LoadContext): Awaitable<QueryResult>;
  /** Traces what is asked of the block after this one (RLP), or of a pre-confirmed one that this state is of. */
  trace(
    block: Uint8Array,
    traced: Traced,
    options: TraceOptions,
    context?: LoadContext,
  ): Awaitable<QueryResult>;
  /** Blocks after this one that nobody built. */
  simulate(request: SimulationRequest, context?: LoadContext): Awaitable<SimulationResult>;
}

/**
 * A state that others take the place of within a second: it holds native memory until the last one who has it gives it back.
 * Whoever opened it has it first. Who keeps asking it beyond one turn of the event loop has to hold it for as long.
 */
export interface HeldStateView extends StateView {
  hold(): void;
  /** Gives it back; after the last one, asking it fails with `StateUnavailableError`. */
  release(): void;
}

/** What executing a flashblock gave. */
export interface ExecutedFlashblock {
  /** The header and hash of the block so far; the rest is of this flashblock only. In the native core's bytes. */
  readonly outcome: Uint8Array;
  /** Names the state after it. */
  readonly version: number;
  readonly index: number;
  /** Where its transactions and logs begin in the block. */
  readonly firstTransaction: number;
  readonly firstLog: number;
}

/** A flashblock that another process executed, as that tells of it. Versions of states there mean nothing here. */
export interface ToldFlashblock extends Omit<ExecutedFlashblock, 'version'> {
  readonly payloadId: string;
}

/** What the transactions of a block did, from somebody who could execute them, for those that cannot be executed here. */
export interface BlockEffects {
  /** Whether nothing of the block is executed, as its rules are not known. */
  readonly isWhole: boolean;
  /** JSON of the state diff and the receipt of each transaction. Asked for once, when one enters a native contract. */
  read(): Promise<string>;
  /** Told which transactions were taken from it once the block is verified. */
  taken(transactions: readonly number[]): void;
}

/** What is known of a new head before its body is read. */
export interface SealedHead {
  readonly hash: Hex;
  readonly stateRoot?: Hex | undefined;
  readonly withdrawalsRoot?: Hex | undefined;
}

/** What became of a sealed block: without an outcome, it has to be executed. */
export interface Promotion {
  readonly outcome: EncodedOutcome | undefined;
  /** How many transactions were pre-confirmed for a block of its number; undefined if there was none. */
  readonly preconfirmed: number | undefined;
  /** The first thing that is not as it was pre-confirmed. */
  readonly difference:
    | {
        readonly in: 'transaction' | 'context' | 'results';
        readonly transaction: number | undefined;
        readonly field: string | undefined;
      }
    | undefined;
}

/** The native EVM of one chain, shared by all threads of the process through `id`. */
export interface Executor {
  /** Handle by which another thread attaches to the same hot state. */
  readonly id: number;
  readonly chainId: bigint;
  /** The state after the block with this header. Throws `StateUnavailableError` where it cannot be known. */
  view(header: Uint8Array): StateView;
  /**
   * A pre-confirmed state, by the version it was published under; undefined once newer ones have taken its place. It is
   * good while `standsOn` is canonical.
   */
  preconfirmedView(version: number, standsOn: BlockRef): HeldStateView | undefined;
  /** Executes and verifies a block (RLP) on top of the head and makes it the head of hot state. */
  execute(block: Uint8Array): Promise<Outcome>;
  /** Takes blocks above `number` off hot state. */
  revertTo(number: number): void;
}
