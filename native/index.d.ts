/** Limits of one chain in memory. */
export interface NativeOptions {
  /** Blocks that can be read from hot state and taken back. */
  readonly window: number;
  /** Accounts and slots kept, each. */
  readonly entries: number;
  readonly codeBytes: number;
  /** Bytes kept of what was loaded for blocks below the window, all of them together. */
  readonly historyBytes: number;
  readonly poolThreads: number;
  readonly poolQueue: number;
  /** The largest gas limit of a block that is executed. */
  readonly maxBlockGas: number;
  /** Accounts and slots of the tries that are kept; none where it is left out. */
  readonly trieKeys?: number;
  /** Takes blocks whose transactions root does not fit. Default: no. */
  readonly oddTransactionsRoots?: boolean;
  /** Blocks that may be pre-confirmed at once. Default: 5. */
  readonly preconfirmedDepth?: number;
}

/** Bytes of native memory. */
export interface NativeMemory {
  /** That the core allocated and has not freed. */
  readonly live: number;
  /** In the C library's heaps, used by anybody in the process; absent where it does not say. */
  readonly used?: number;
  /** The same, of large pieces that are mapped one by one. What is never touched of them is not resident. */
  readonly mapped?: number;
  /** Freed, and kept by the C library for what comes next. */
  readonly free?: number;
}

/** What a block header says. */
export interface NativeHeader {
  readonly number: number;
  readonly hash: string;
  readonly stateRoot: string;
}

/** What executing a block gave: one of the first two. */
export interface NativeExecution {
  readonly outcome?: Buffer;
  readonly missing?: string;
  /** With an outcome: the transactions, by their place, whose effects were taken. */
  readonly taken?: readonly number[];
}

/** What executing a flashblock gave: what was missing, or all the others. */
export interface NativePiece {
  /** The header and hash of the block so far; transactions, receipts, logs and changes of this flashblock only. */
  readonly outcome?: Buffer;
  /** Of the state after it. */
  readonly version?: number;
  readonly index?: number;
  /** Where the transactions and logs of this flashblock begin in the block. */
  readonly firstTransaction?: number;
  readonly firstLog?: number;
  readonly missing?: string;
}

/**
 * What became of a sealed block: an outcome, or missing keys, or neither, and then it must be executed. Nothing is set
 * if no block of its number was pre-confirmed on the head.
 */
export interface NativePromotion {
  /** It is the head now: as it was pre-confirmed, or with `differs`, executed from the flashblock that differs on. */
  readonly outcome?: Buffer;
  /** What executing the rest of it lacked; handed to `provide`, as for `execute`. */
  readonly missing?: string;
  /** Other transactions, or the same ones in another context, or other results. */
  readonly differs?: 'transaction' | 'context' | 'results';
  /** The first transaction that differs. */
  readonly transaction?: number;
  /** The first header field that differs. */
  readonly field?: string;
  /** How many transactions were pre-confirmed in this block. */
  readonly preconfirmed?: number;
}

export interface NativePreconfirmedSizes {
  readonly blocks: number;
  readonly accounts: number;
  readonly slots: number;
}

export interface NativeSizes {
  readonly accounts: number;
  readonly slots: number;
  readonly codeBytes: number;
  readonly pooledCalls: number;
  readonly historyBytes: number;
  readonly trieBlocks: number;
  readonly trieKeys: number;
}

/** Fees of a block and of the next one; quantities in wei. What a block has none of is absent. */
export interface NativeFees {
  readonly beneficiary: string;
  readonly gasUsed: number;
  readonly gasLimit: number;
  readonly baseFee?: string;
  readonly nextBaseFee?: string;
  /** `maxGas` is 0 on chains that have the fields and no blobs. */
  readonly blobs?: {
    readonly gasUsed: number;
    readonly maxGas: number;
    readonly fee: string;
    readonly nextFee: string;
  };
}

/** What a signed transaction says. */
export interface NativeRawTransaction {
  readonly hash: string;
  readonly from: string;
  readonly nonce: number;
}

/** A chain in memory, shared by the threads of the process that attach to it. */
export declare class NativeChain {
  private constructor();
  /** From the `config` object of a genesis file. */
  static create(spec: string, options: NativeOptions): NativeChain;
  static attach(id: number): NativeChain;
  readonly id: number;
  /** Decimal. */
  readonly chainId: string;
  /** Forks of the chain whose rules are not known, in words. */
  readonly unknownForks: string[];
  /** Takes over the blob parameters of a chain config of the same chain; nothing else of it counts. */
  adoptBlobs(config: string): void;
  /** Throws `unknown-fork` for a block whose rules are not known, given whole or by its header alone (RLP). */
  expectKnown(block: Uint8Array): void;
  startAtGenesis(genesis: string): Buffer;
  open(header: Uint8Array): void;
  apply(header: Uint8Array, diff: Uint8Array): void;
  /**
   * Executes a block on a thread of its own and makes it the head when the promise is settled, on this thread. Rejected
   * with `exhausted` where it took longer than `milliseconds` and what its gas is worth, with `cancelled`, and with
   * `unavailable` where blocks were taken back meanwhile; the head has not moved then.
   */
  /**
   * `effects` is JSON, `{diffs, receipts}` of all transactions: what enters native contracts is taken from it. Without it, such a
   * block is refused with the code `native`.
   */
  execute(
    block: Uint8Array,
    milliseconds: number,
    cancel: NativeCancel,
    effects?: string,
  ): Promise<NativeExecution>;
  provide(missing: string, values: Uint8Array): void;
  revertTo(number: number): void;
  setCommitment(commitment: NativeTrie): void;
  /**
   * RLP of a block from the JSON of `eth_getBlockByHash` with whole transactions. It hashes to the `hash` in the JSON;
   * a part that does not fit is named after `invalid-block: `: header, transactions, uncles or withdrawals.
   */
  blockFromJson(text: string): Buffer;
  /**
   * The bytes of each transaction of a JSON list. One that does not hash to the hash it has there is refused with
   * `invalid-block: transactions`.
   */
  transactionsFromJson(text: string): Buffer[];
  /**
   * What `execute` gives for a block (RLP), but with an empty diff, from the JSON of `eth_getBlockReceipts`. Receipts
   * that are not the block's are refused with `invalid-block: receipts`.
   */
  outcomeFromJson(block: Uint8Array, receipts: string): Buffer;
  /**
   * A header (RLP, also of a whole block) as `newHeads` has it: a JSON object. With another hash than its own where it is
   * not sealed yet.
   */
  headerJson(header: Uint8Array, hash?: string | undefined): string;
  /**
   * A block as `eth_getBlockByHash` has it but for its transactions, of the whole of it (RLP) or, in order, of all pieces
   * that there are: a JSON object. With another hash than its own where it is not sealed yet.
   */
  blockJson(pieces: Uint8Array[], hash?: string | undefined): string;
  /**
   * The transactions of a block or piece (RLP) as `eth_getBlockByHash` lists them: a JSON object each. `first` is the index
   * of the first one in its block. `senders` has 20 bytes for each; without it they are recovered, which takes most of the
   * time. `depositNonces` are those of the deposits among them, in order, as receipts say; without one it is 0. With
   * `only`, counted from these, none but that one.
   */
  transactionsJson(
    block: Uint8Array,
    first: number,
    blockHash: string,
    senders?: Uint8Array,
    depositNonces?: number[],
    only?: number,
  ): string[];
  /** A block (RLP) put together from all there is of one that grows, in order. */
  rawBlock(pieces: Uint8Array[]): Uint8Array;
  /** One transaction of a block or piece (RLP), in the form of EIP-2718. */
  rawTransaction(block: Uint8Array, index: number): Uint8Array;
  /** The receipts of a block, each as the receipts root commits to it, from their JSON and the block's header (RLP). */
  rawReceipts(header: Uint8Array, receipts: string): Uint8Array[];
  /** The fees of a block, given whole or by its header alone (RLP). */
  fees(block: Uint8Array): NativeFees;
  readonly isOpStack: boolean;
  /** Reads a signed transaction; one that no pool of this chain would take is refused with `malformed`, in the words of geth. */
  readRawTransaction(bytes: Uint8Array): NativeRawTransaction;
  sizes(): NativeSizes;
  /** The most keys that a trie may have to be kept. */
  readonly maxTrieKeys: number;
  /** Whether the trie of the state after a block is kept. */
  hasTrie(hash: string): boolean;
  /** The highest block at or below `number` whose trie is kept. */
  nearestTrie(number: number): { readonly number: number; readonly hash: string } | null;
  /** Keeps the trie of the block with this header; false if it is not that of its state, or is too large. Hashed in the pool. */
  keepTrie(header: Uint8Array, trie: NativeTrie): Promise<boolean>;
  /** Keeps the trie of the block with this header, made from its parent's in the pool; false if that is not kept. */
  extendTrie(header: Uint8Array, diff: Uint8Array): Promise<boolean>;
  /**
   * The JSON of `eth_getProof` for an account and some of its slots, which `keys` name in it, from the trie of a block; null if that is not
   * kept. Made in the pool, which refuses with `busy` when it is full; so do the two above.
   */
  prove(hash: string, address: string, slots: string[], keys: string[]): Promise<Buffer | null>;
  /**
   * Executes a flashblock (the JSON of the whole message) on the one before it and compares gas used, receipts root,
   * logs bloom, blob gas used and hash of the block so far. The first one of a block that is there begins it anew. After `invalid-block`,
   * `malformed`, `unavailable`, `exhausted` or `cancelled` everything is as it was. What is missing is handed to `provide`. It
   * runs, and is taken in, where `execute` does.
   */
  extendPreconfirmed(flashblock: string, milliseconds: number, cancel: NativeCancel): Promise<NativePiece>;
  /**
   * Shows readers what a flashblock changed that another process executed, from the outcome and the places that
   * `extendPreconfirmed` gave there; nothing is executed. Gives the version of the state after it here. After `malformed` (no such bytes),
   * `invalid-block` (it does not follow what is here) or `unavailable` (too many blocks, no head) everything is as it was.
   */
  applyFlashblock(
    outcome: Uint8Array,
    payloadId: string,
    index: number,
    firstTransaction: number,
    firstLog: number,
  ): number;
  /** Makes a sealed block the head: as far as it is as it was pre-confirmed, without executing it again. As `execute`. */
  promote(block: Uint8Array, milliseconds: number, cancel: NativeCancel): Promise<NativePromotion>;
  /**
   * The same for the block with this hash, if that is what was pre-confirmed first: it need not be read anywhere. The roots
   * are the sealed header's; they complete a block whose builder does not say them. As `execute`, but nothing is ever missing.
   */
  promoteSealed(
    hash: string,
    stateRoot: string | undefined,
    withdrawalsRoot: string | undefined,
    milliseconds: number,
    cancel: NativeCancel,
  ): Promise<NativePromotion>;
  /** Forgets pre-confirmed blocks from a number on. */
  dropPreconfirmed(from: number): void;
  /**
   * The version of the newest pre-confirmed state, null when nothing is pre-confirmed. Each change of what readers see
   * has a new one, counted from 1.
   */
  preconfirmedVersion(): number | null;
  /** The payload ids of the blocks that are pre-confirmed on the head, lowest first. */
  preconfirmedPayloads(): string[];
  /**
   * Whether pre-confirmed blocks went although they name a sealed block as their parent, because it has other contents
   * than they were executed on. Since it was asked last: whoever goes by hashes has to be told.
   */
  takeLostPreconfirmed(): boolean;
  /** The last block that was pre-confirmed without a hash and sealed with other contents; null before the first. */
  sealedOtherwise(): number | null;
  preconfirmedSizes(): NativePreconfirmedSizes;
}

/** Tells a block that is executed that nobody waits for it any more. */
export declare class NativeCancel {
  cancel(): void;
}

/** Every account and slot of a state, gathered to a trie; an account comes before its slots. */
export declare class NativeTrie {
  constructor();
  addAccount(address: Uint8Array, value: Uint8Array): void;
  addSlot(address: Uint8Array, slot: Uint8Array, value: Uint8Array): void;
  /** The state root. Hashes all of it, the first time. */
  root(): string;
}

/** A simulation, from JSON. Read once, in the pool. */
export declare class NativeSimulation {
  constructor(text: string);
  /**
   * Runs it on a view, with state roots if the trie of its block is kept. Long JSON is bytes; a text is as of a view, with `e`
   * for a code and the words of a refusal, and `T` where that trie is gone.
   */
  run(view: NativeView, milliseconds: number, client: string, hasTrie: boolean): Promise<string | Buffer>;
  /** Tells a run that nobody waits for it any more. */
  cancel(): void;
  /** Lets go of the text. */
  end(): void;
}

/** A call for the pool. Its texts are copied once, and read in the pool, once, however many rounds it takes. */
export declare class NativePooledCall {
  constructor(
    from: string | undefined,
    to: string | undefined,
    gas: string,
    data: string | undefined,
    options: string | undefined,
    asked?: string,
  );
  /**
   * Runs it on a view. Texts that are malformed reject the promise. Bytes are the JSON of a long output, quotes
   * included, after an `r` if it is of a revert.
   */
  run(view: NativeView, milliseconds: number, client: string): Promise<string | Buffer>;
  /** Tells a run that nobody waits for it any more. */
  cancel(): void;
  /** Lets go of the texts; nothing can be run any more. */
  end(): void;
}

/** What of a block is traced: a transaction, a call after some of them, or all of them. */
export interface NativeTraced {
  /** How many pre-confirmed blocks before the view's state the block's parent is; none where the view is of the parent. */
  ahead?: number;
  transaction?: number;
  /** As those of `NativePooledCall`; `after` is how many transactions are before it. */
  call?: {
    after: number;
    from?: string | undefined;
    to?: string | undefined;
    gas: string;
    data?: string | undefined;
    options?: string | undefined;
  };
}

/** Traces of what is in a block, for the pool. */
export declare class NativeTrace {
  /** `block` is RLP, `options` JSON. */
  constructor(block: Uint8Array, traced: NativeTraced, options: string);
  /** Executes it on the view of its parent. Bytes are the JSON of a long trace. */
  run(view: NativeView, milliseconds: number, client: string): Promise<string | Buffer>;
  /** Tells a run that nobody waits for it any more. */
  cancel(): void;
  /** Lets go of the block and the call; nothing can be run any more. */
  end(): void;
}

/**
 * The state after one block. Answers are texts whose first character says what they are: `=` a value, `r` revert
 * data, `h` a halt, `i` an invalid call, `m` missing keys, `o` outdated, `b` over the step budget, `t` timed out,
 * `c` cancelled, `f` pool full.
 */
export declare class NativeView {
  private constructor();
  static open(chain: NativeChain, header: Uint8Array): NativeView;
  /**
   * The newest pre-confirmed state, or the one of a version: the last 16 are kept. Null if it is not there. Further
   * flashblocks do not change it.
   */
  static openPreconfirmed(chain: NativeChain, version?: number): NativeView | null;
  /** Frees what only this view holds. Calls in the pool go on; whatever is asked after it throws. */
  release(): void;
  readonly number: number;
  readonly hash: string;
  readonly timestamp: number;
  /** The last flashblock of a pre-confirmed state. */
  readonly flashblockIndex: number | null;
  /** The confirmed block that is read below pre-confirmed changes; without any, the block itself. */
  readonly baseNumber: number;
  readonly baseHash: string;
  /** RLP; of a pre-confirmed block as it is so far. */
  header(): Buffer;
  nonce(address: string): string;
  /** Nonce and balance, with a comma between them. */
  account(address: string): string;
  balance(address: string): string;
  code(address: string): string;
  storage(address: string, slot: string): string;
  call(
    from: string | undefined,
    to: string | undefined,
    gas: string,
    data: string | undefined,
    options: string | undefined,
    budget: number,
    asked?: string,
  ): string;
  /** Runs a simulation within a budget of steps, with state roots if the trie of this block is kept; see `NativeSimulation`. */
  simulate(text: string, budget: number, hasTrie: boolean): string | Buffer;
  provide(missing: string, values: Uint8Array): void;
  /** Keeps what is loaded for a block below the window until `releaseLoaded`. */
  holdLoaded(): void;
  releaseLoaded(): void;
}

/** The exports of the addon. */
export interface Native {
  readonly NativeCancel: typeof NativeCancel;
  readonly NativeChain: typeof NativeChain;
  readonly NativePooledCall: typeof NativePooledCall;
  readonly NativeTrace: typeof NativeTrace;
  readonly NativeSimulation: typeof NativeSimulation;
  readonly NativeTrie: typeof NativeTrie;
  readonly NativeView: typeof NativeView;
  /** Reads the header of a block, given whole or by its header alone (RLP). */
  readHeader(block: Uint8Array): NativeHeader;
  /** The hash of the header in a block's JSON, whose transactions may be left out. */
  headerHash(text: string): string;
  keccak256(bytes: Uint8Array): Buffer;
  /**
   * Checks the JSON of `eth_getProof` against a state root. Gives stored forms: the account (RLP of nonce, balance and
   * code hash; empty if there is none), then each slot's value without leading zeros. What does not hold is refused
   * with `invalid-proof`.
   */
  checkProof(stateRoot: string, address: string, slots: string[], proof: string): Buffer[];
  nativeMemory(): NativeMemory;
  /** Has the C library give memory back to the system that it keeps for what comes next. Takes milliseconds. */
  trimMemory(): void;
}

export declare const native: Native;
