import {
  type NativeChain,
  type NativeExecution,
  type NativeOptions,
  type NativePreconfirmedSizes,
  type NativeSizes,
  type NativeView,
  native,
} from '@chain-query/native';
import type { BlockRef, EncodedOutcome, Outcome } from '../chain/outcome.ts';
import { decodeOutcome } from '../chain/outcome-codec.ts';
import type { SlotKey } from '../chain/state-key.ts';
import { type Hex, toHex } from '../primitives/hex.ts';
import { configText } from '../rules/chains.ts';
import {
  asInvalidBlock,
  asTold,
  failureOf,
  InvalidProofError,
  NativeContractError,
  UnknownForkError,
} from './errors.ts';
import { type BlockLoader, Executions, timeOfRuns, timeUntil } from './executions.ts';
import type {
  BlockEffects,
  ExecutedFlashblock,
  Executor,
  HeldStateView,
  LoadContext,
  Promotion,
  SealedHead,
  StateLoader,
  StateView,
  ToldFlashblock,
} from './interface.ts';
import { joinMissing, supply } from './missing.ts';
import { NativeStateView, type ViewOptions } from './state-view.ts';
import { type ProofRequest, type StateScan, StateTries, type TrieSource } from './tries/state-tries.ts';

export interface ExecutorOptions extends ViewOptions {
  /** For executing a block, without the loading of its state. */
  readonly blockTimeLimitMs: number;
}

export interface ExecutorModules {
  readonly load: StateLoader;
  /** Where the complete state is, for proofs and the roots of what is simulated. */
  readonly tries?: TrieSource;
}

/** What a header says, read from the RLP of a block or of its header. */
export interface HeaderInfo extends BlockRef {
  readonly stateRoot: Hex;
}

/** Reads the header of a block, given whole or by its header alone (RLP). */
export function readHeader(block: Uint8Array): HeaderInfo {
  return native.readHeader(block) as HeaderInfo;
}

/** The hash of the header in a block's JSON; throws `InvalidBlockError` when it is no header. */
export function headerHash(block: object): Hex {
  return asInvalidBlock(() => native.headerHash(JSON.stringify(block))) as Hex;
}

/** The hash that names code and blocks. */
export function keccak256(bytes: Uint8Array): Uint8Array {
  return native.keccak256(bytes);
}

/**
 * What an eth_getProof answer proves against a state root, in stored form: the account, then each slot. Throws
 * `InvalidProofError`.
 */
export function checkProof(
  stateRoot: Hex,
  address: Uint8Array,
  slots: readonly Uint8Array[],
  proof: object | string,
): readonly Uint8Array[] {
  const json = typeof proof === 'string' ? proof : JSON.stringify(proof);
  try {
    return native.checkProof(stateRoot, toHex(address), slots.map(toHex), json);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new InvalidProofError(`proof: ${text}`, { cause: error });
  }
}

/** The native EVM behind the interface that the rest of the node sees. */
export class NativeExecutor implements Executor {
  readonly chainId: bigint;
  readonly #chain: NativeChain;
  readonly #options: ExecutorOptions;
  readonly #load: StateLoader;
  readonly #loadForBlock: BlockLoader = (keys, asOf) => this.#load(keys, asOf, undefined);
  readonly #executions: Executions;
  readonly #tries: StateTries;

  private constructor(chain: NativeChain, options: ExecutorOptions, modules: ExecutorModules) {
    this.#chain = chain;
    this.#executions = new Executions(chain);
    this.#options = options;
    this.#load = modules.load;
    this.#tries = new StateTries(chain, modules.tries);
    this.chainId = BigInt(chain.chainId);
  }

  /** Makes a chain by its name in the table of chains, or from the `config` object of a genesis file. */
  static create(
    rules: string,
    options: NativeOptions & ExecutorOptions,
    modules: ExecutorModules,
  ): NativeExecutor {
    return new NativeExecutor(native.NativeChain.create(configText(rules), options), options, modules);
  }

  /** Attaches to a chain that another thread of this process made. */
  static attach(id: number, options: ExecutorOptions, modules: ExecutorModules): NativeExecutor {
    return new NativeExecutor(native.NativeChain.attach(id), options, modules);
  }

  get id(): number {
    return this.#chain.id;
  }

  view(header: Uint8Array): StateView {
    const reopen = (): NativeView => native.NativeView.open(this.#chain, header);
    return new NativeStateView(reopen(), this.#options, this.#load, this.#tries, { reopen });
  }

  preconfirmedView(version: number, standsOn: BlockRef): HeldStateView | undefined {
    const view = native.NativeView.openPreconfirmed(this.#chain, version);
    // It cannot be opened again: what it stands on has left the chain, or is too old for anybody to ask.
    if (view === null) return undefined;
    return new NativeStateView(view, this.#options, this.#load, this.#tries, { standsOn });
  }

  /** Forks of the chain whose rules are not known here, in words. */
  get unknownForks(): readonly string[] {
    return this.#chain.unknownForks;
  }

  /** Takes over the blob parameters of a chain config of the same chain, from now on and on every thread. */
  adoptBlobs(config: string): void {
    this.#chain.adoptBlobs(config);
  }

  /** Throws `UnknownForkError` for a block whose rules are not known here, given whole or by its header alone (RLP). */
  expectKnown(block: Uint8Array): void {
    try {
      this.#chain.expectKnown(block);
    } catch (error) {
      throw failureOf(error);
    }
  }

  /** Whether the rules of a block (RLP) are known here. */
  isKnown(block: Uint8Array): boolean {
    try {
      this.expectKnown(block);
      return true;
    } catch (error) {
      if (error instanceof UnknownForkError) return false;
      throw error;
    }
  }

  /** Begins at the genesis block with all of its state, and verifies state roots from here on. */
  startAtGenesis(genesis: string): EncodedOutcome {
    return decodeOutcome(this.#chain.startAtGenesis(genesis));
  }

  /** Begins at the block with this header; its state is loaded as it is needed. */
  open(header: Uint8Array): void {
    this.#chain.open(header);
  }

  /** Makes a block that was executed before the head. */
  apply(header: Uint8Array, diff: Uint8Array): void {
    this.#chain.apply(header, diff);
  }

  /**
   * Executes a block on the head and makes it the head. Throws `InvalidBlockError` when it is not what it claims to be,
   * `ExecutionLimitError` when it takes too long, and the signal's reason once that aborts. What enters a native contract is
   * taken from `effects`, and so is all of a block whose rules are not known; without them, `NativeContractError` is thrown.
   */
  async execute(
    block: Uint8Array,
    load: BlockLoader = this.#loadForBlock,
    signal?: AbortSignal,
    effects?: BlockEffects,
  ): Promise<EncodedOutcome> {
    const by = { load, time: timeOfRuns(this.#options.blockTimeLimitMs), signal };
    const run = (told?: string): Promise<NativeExecution> =>
      this.#executions.complete((ms, cancel) => this.#chain.execute(block, ms, cancel, told), by);
    const execute = async (): Promise<NativeExecution> =>
      run(effects?.isWhole === true ? await effects.read() : undefined);
    const execution = await execute().catch(async (error: unknown) => {
      if (!(error instanceof NativeContractError) || effects === undefined) throw error;
      return run(await effects.read());
    });
    const { outcome, taken = [] } = execution;
    if (taken.length > 0) effects?.taken(taken);
    if (outcome === undefined) throw new Error('the native core gave neither an outcome nor missing keys');
    return decodeOutcome(outcome);
  }

  /**
   * Has slots at hand before the next block asks for them: one that lacks something is run again. `header` is the head's.
   * Those that are in memory are not loaded.
   */
  async bringIn(header: Uint8Array, slots: readonly SlotKey[], load: BlockLoader): Promise<void> {
    const view = native.NativeView.open(this.#chain, header);
    const answers = slots.map(({ address, slot }) => view.storage(toHex(address), toHex(slot)));
    const missing = answers.flatMap((answer) => (answer.startsWith('m') ? [answer.slice(1)] : []));
    if (missing.length > 0) await supply(this.#chain, joinMissing(missing), load);
  }

  /**
   * Executes a flashblock (its message) on the one before it, and shows it to readers. Throws `InvalidBlockError` when
   * it is not what it claims to be, `StateUnavailableError` when the head has moved, and `ExecutionLimitError` when it is not
   * done by `deadline` (of `performance.now`); nothing has changed then.
   */
  async executeFlashblock(
    message: string,
    load: BlockLoader,
    deadline: number,
    signal?: AbortSignal,
  ): Promise<ExecutedFlashblock> {
    const { outcome, version, index, firstTransaction, firstLog } = await this.#executions.complete(
      (ms, cancel) => this.#chain.extendPreconfirmed(message, ms, cancel),
      { load, time: timeUntil(deadline), signal },
    );
    if (
      outcome === undefined ||
      version === undefined ||
      index === undefined ||
      firstTransaction === undefined ||
      firstLog === undefined
    ) {
      throw new Error('the native core gave neither a flashblock nor missing keys');
    }
    return { outcome, version, index, firstTransaction, firstLog };
  }

  /**
   * Shows readers what a flashblock changed that another process executed; gives the version of the state after it. Throws
   * `CodecError` for what is no such outcome, `InvalidBlockError` when it does not follow what is here, and
   * `StateUnavailableError` when there is no room for it; nothing has changed then.
   */
  applyFlashblock(told: ToldFlashblock): number {
    const { outcome, payloadId, index, firstTransaction: first, firstLog } = told;
    return asTold(() => this.#chain.applyFlashblock(outcome, payloadId, index, first, firstLog));
  }

  /**
   * Makes a sealed block the head if it is as it was pre-confirmed; from the first transaction that is not, it is
   * executed. Without an outcome, all of it has to be executed.
   */
  async promote(block: Uint8Array, load: BlockLoader, signal?: AbortSignal): Promise<Promotion> {
    const { outcome, differs, transaction, field, preconfirmed } = await this.#executions.complete(
      (ms, cancel) => this.#chain.promote(block, ms, cancel),
      { load, time: timeOfRuns(this.#options.blockTimeLimitMs), signal },
    );
    return {
      outcome: outcome && decodeOutcome(outcome),
      preconfirmed,
      difference: differs === undefined ? undefined : { in: differs, transaction, field },
    };
  }

  /**
   * The outcome of the block with this hash, which is the head now, if that is what was pre-confirmed. The roots are of
   * the sealed header: they complete a block whose builder does not say them.
   */
  async promoteSealed({ hash, stateRoot, withdrawalsRoot }: SealedHead): Promise<EncodedOutcome | undefined> {
    // Not before a flashblock that came earlier: it may be the one that makes this the block.
    const { outcome } = await this.#executions.complete(
      (ms, cancel) => this.#chain.promoteSealed(hash, stateRoot, withdrawalsRoot, ms, cancel),
      { load: this.#loadForBlock, time: timeOfRuns(this.#options.blockTimeLimitMs), signal: undefined },
    );
    return outcome && decodeOutcome(outcome);
  }

  /** The payload ids of the blocks that are pre-confirmed on the head, lowest first. */
  preconfirmedPayloads(): readonly string[] {
    return this.#chain.preconfirmedPayloads();
  }

  /** Whether pre-confirmed blocks went that name a sealed block as their parent, but stood on other contents; since it was asked last. */
  takeLostPreconfirmed(): boolean {
    return this.#chain.takeLostPreconfirmed();
  }

  /** The last block that was pre-confirmed without a hash and sealed with other contents. */
  get sealedOtherwise(): number | undefined {
    return this.#chain.sealedOtherwise() ?? undefined;
  }

  /** Forgets pre-confirmed blocks from a number on; returns the version of what is left, if anything is. */
  dropPreconfirmed(from: number): number | undefined {
    this.#chain.dropPreconfirmed(from);
    return this.#chain.preconfirmedVersion() ?? undefined;
  }

  /** Bytes of transactions from their JSON, each checked by its hash; throws `InvalidBlockError`. */
  transactionsFromJson(transactions: readonly object[]): readonly Uint8Array[] {
    return asInvalidBlock(() => this.#chain.transactionsFromJson(JSON.stringify(transactions)));
  }

  /** The RLP of a block that came as JSON; throws `InvalidBlockError` when its parts do not fit its hash. */
  blockFromJson(block: object): Uint8Array {
    return asInvalidBlock(() => this.#chain.blockFromJson(JSON.stringify(block)));
  }

  /** What a block gave, from its receipts as JSON, without the state diff; verified against its header likewise. */
  outcomeFromJson(block: Uint8Array, receipts: readonly object[]): Outcome {
    return decodeOutcome(asInvalidBlock(() => this.#chain.outcomeFromJson(block, JSON.stringify(receipts))));
  }

  revertTo(number: number): void {
    // The addon would read what is no number as 0, and take off everything.
    if (!Number.isSafeInteger(number)) throw new RangeError(`${number} is not a block number`);
    this.#chain.revertTo(number);
  }

  /** Takes in the complete state of the head, so that state roots are verified from here on; returns its root. */
  async loadCommitment(scan: StateScan): Promise<Hex> {
    const commitment = new native.NativeTrie();
    for await (const entry of scan) {
      if (entry.kind === 'account') commitment.addAccount(entry.address, entry.value);
      else commitment.addSlot(entry.address, entry.slot, entry.value);
    }
    const root = commitment.root() as Hex;
    this.#chain.setCommitment(commitment);
    return root;
  }

  /** The JSON of eth_getProof, from a complete state; undefined where that is partial, or larger than may be kept. */
  prove(ref: BlockRef, request: ProofRequest, context?: LoadContext): Promise<Buffer | undefined> {
    return this.#tries.prove(ref, request, context);
  }

  /** A header as `newHeads` has it, in JSON; with another hash than its own where it is not sealed yet. */
  headerJson(header: Uint8Array, hash?: Hex): string {
    return this.#chain.headerJson(header, hash);
  }

  /**
   * A block as eth_getBlockByHash has it but for its transactions, of the whole of it (RLP) or, in order, of all pieces
   * that there are; with another hash than its own where it is not sealed yet.
   */
  blockJson(pieces: readonly Uint8Array[], hash?: Hex): string {
    return this.#chain.blockJson([...pieces], hash);
  }

  /**
   * The transactions of an outcome as eth_getBlockByHash lists them; the first is number `first` of its block. With
   * `only`, counted from these, none but that one.
   */
  transactionsJson(
    { block, receipts }: Pick<Outcome, 'block' | 'receipts'>,
    first: number,
    blockHash: Hex,
    only?: number,
  ): readonly string[] {
    const senders = Buffer.concat(receipts.map(({ from }) => from));
    const depositNonces = receipts.flatMap(({ extras }) =>
      extras.flatMap(([name, value]) => (name === 'depositNonce' ? [Number(value)] : [])),
    );
    return this.#chain.transactionsJson(block, first, blockHash, senders, depositNonces, only);
  }

  /** A block (RLP) put together from all pieces that there are, in order. */
  rawBlock(pieces: readonly Uint8Array[]): Uint8Array {
    return this.#chain.rawBlock([...pieces]);
  }

  /** One transaction of a block or piece (RLP), in the form of EIP-2718. */
  rawTransaction(block: Uint8Array, index: number): Uint8Array {
    return this.#chain.rawTransaction(block, index);
  }

  /** The receipts of a block, each as its header (RLP) commits to it, from the JSON array of them. */
  rawReceipts(header: Uint8Array, receipts: string): readonly Uint8Array[] {
    return this.#chain.rawReceipts(header, receipts);
  }

  /** Sizes of pre-confirmed state, for metrics. */
  preconfirmedSizes(): NativePreconfirmedSizes {
    return this.#chain.preconfirmedSizes();
  }

  /** Sizes for metrics. */
  sizes(): NativeSizes {
    return this.#chain.sizes();
  }
}
