import { type NativeChain, native } from '@chain-query/native';
import type { BlockRef } from '../../chain/outcome.ts';
import { OverloadedError, StateUnavailableError } from '../../primitives/errors.ts';
import type { Awaitable, Hex } from '../../primitives/hex.ts';
import { Pace } from '../../primitives/pace.ts';
import { Shares } from '../../primitives/shares.ts';
import { asOverloaded } from '../errors.ts';
import type { LoadContext } from '../interface.ts';

/** Every account and slot of a state, one after another. */
export type StateScan = AsyncIterable<
  | { readonly kind: 'account'; readonly address: Uint8Array; readonly value: Uint8Array }
  | {
      readonly kind: 'slot';
      readonly address: Uint8Array;
      readonly slot: Uint8Array;
      readonly value: Uint8Array;
    }
>;

/** What tries are made from: a store. */
export interface TrieSource {
  /** Whether it holds all of the state. */
  isComplete(): Awaitable<boolean>;
  canonicalHash(number: number): Awaitable<Hex | undefined>;
  header(ref: BlockRef): Awaitable<Uint8Array | undefined>;
  /** Encoded diff of a block; undefined where it is not kept any more. */
  diffBytes(number: number): Awaitable<Uint8Array | undefined>;
  scanState(number: number): StateScan;
}

/** Blocks that a trie is taken forward by their diffs; from further away it is built anew. */
const MAX_STEPS = 256;
/** Requests that wait for a trie at the same time, on one thread; one client leaves some to the others. */
const MAX_WAITING = 64;
/** How often a trie may make room for another one before what it was made for is read from it. */
const MAX_ATTEMPTS = 3;

/** What is proven of an account: its slots as words, and as they are named in the answer. */
export interface ProofRequest {
  readonly address: Hex;
  readonly slots: readonly Hex[];
  readonly keys: readonly string[];
}

/**
 * Has the tries of complete states made when they are first needed. The native core keeps them, for all threads. The state is read here, a few
 * milliseconds a turn; its hashing and all else that is long is done in the pool.
 */
export class StateTries {
  readonly #chain: NativeChain;
  readonly #source: TrieSource | undefined;
  /** One at a time: the next one may need what this one makes. */
  #building: Promise<unknown> = Promise.resolve();
  readonly #waiting = new Shares(MAX_WAITING);
  /** The state has more keys than may be kept: states hardly ever shrink. */
  #isTooLarge = false;

  constructor(chain: NativeChain, source: TrieSource | undefined) {
    this.#chain = chain;
    this.#source = source;
  }

  /** Whether the trie of the state after a block is there; undefined where that takes asking `prepare`. */
  ready(ref: BlockRef): boolean | undefined {
    if (this.#source === undefined || this.#isTooLarge || this.#chain.maxTrieKeys === 0) return false;
    if (this.#chain.hasTrie(ref.hash)) return true;
    return this.#source.isComplete() === false ? false : undefined;
  }

  /** The same, where it can be made now, too. Rejects when nobody waits for it any more. */
  async prepare(ref: BlockRef, { client = '', signal }: Partial<LoadContext> = {}): Promise<boolean> {
    const source = this.#source;
    const isReady = this.ready(ref);
    if (isReady !== undefined || source === undefined) return isReady === true;
    if (!(await source.isComplete())) return false;
    if (!this.#waiting.take(client, 1)) throw new OverloadedError();
    const build = (): Promise<boolean> => this.#build(ref, source, signal);
    const building = this.#building.then(build, build);
    this.#building = building;
    const { promise: gone, reject } = Promise.withResolvers<never>();
    const leave = (): void => reject(abandoned());
    signal?.addEventListener('abort', leave, { once: true });
    if (signal?.aborted === true) leave();
    return Promise.race([building, gone]).finally(() => {
      signal?.removeEventListener('abort', leave);
      this.#waiting.give(client, 1);
    });
  }

  /** The JSON of eth_getProof for the state after a block; undefined where there is no trie of it. */
  async prove(
    ref: BlockRef,
    { address, slots, keys }: ProofRequest,
    context?: LoadContext,
  ): Promise<Buffer | undefined> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (!(await this.prepare(ref, context))) return undefined;
      const json = await asOverloaded(this.#chain.prove(ref.hash, address, [...slots], [...keys]));
      if (json !== null) return json;
    }
    throw new OverloadedError();
  }

  async #build(ref: BlockRef, source: TrieSource, signal: AbortSignal | undefined): Promise<boolean> {
    expectWanted(signal);
    if (this.#chain.hasTrie(ref.hash)) return true;
    if (this.#isTooLarge) return false;
    try {
      if (await asOverloaded(this.#extend(ref, source, signal))) return true;
      return await asOverloaded(this.#scan(ref, source, signal));
    } catch (error) {
      if (error instanceof OverloadedError || error instanceof StateUnavailableError) throw error;
      // The block may be taken off, or pruned, while it is read.
      throw new StateUnavailableError(`the state cannot be read as a whole: ${String(error)}`);
    }
  }

  /** From the trie of a block before it, by the diffs of those between them. */
  async #extend(ref: BlockRef, source: TrieSource, signal: AbortSignal | undefined): Promise<boolean> {
    const nearest = this.#chain.nearestTrie(ref.number);
    if (nearest === null || ref.number - nearest.number > MAX_STEPS) return false;
    for (let number = nearest.number + 1; number <= ref.number; number++) {
      expectWanted(signal);
      const hash = number === ref.number ? ref.hash : await source.canonicalHash(number);
      const header = hash && (await source.header({ number, hash }));
      const diff = await source.diffBytes(number);
      if (header === undefined || diff === undefined) return false;
      if (!(await this.#chain.extendTrie(header, diff))) return false;
    }
    return this.#chain.hasTrie(ref.hash);
  }

  /** From all of the state. */
  async #scan(ref: BlockRef, source: TrieSource, signal: AbortSignal | undefined): Promise<boolean> {
    const header = await source.header(ref);
    if (header === undefined) return false;
    const trie = new native.NativeTrie();
    const pace = new Pace();
    let entries = 0;
    for await (const entry of source.scanState(ref.number)) {
      if (entry.kind === 'account') trie.addAccount(entry.address, entry.value);
      else trie.addSlot(entry.address, entry.slot, entry.value);
      if (++entries > this.#chain.maxTrieKeys) {
        this.#isTooLarge = true;
        return false;
      }
      if (!pace.spend(1)) continue;
      await pace.rest();
      expectWanted(signal);
    }
    return this.#chain.keepTrie(header, trie);
  }
}

function expectWanted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abandoned();
}

function abandoned(): StateUnavailableError {
  return new StateUnavailableError('nobody waits for it');
}
