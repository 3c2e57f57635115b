import { setTimeout as delay } from 'node:timers/promises';
import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { BlockReader, ReadBlock } from '../../follow/blocks/reader.ts';
import { type BackOff, fullBackOffMs } from '../../source/clock.ts';
import { SourceError } from '../../source/errors.ts';
import type { ChainSource } from '../../source/interface.ts';

export interface FetchOptions {
  /** How long no block may arrive, while upstreams fail, before that is an error. */
  readonly patienceMs: number;
  readonly retry: BackOff;
}

export interface FetchModules {
  readonly blocks: BlockReader;
  readonly source: Pick<ChainSource, 'report'>;
  readonly signal: AbortSignal;
  /** Called when upstreams fail and are asked again. */
  readonly onTrouble: (error: SourceError, retryMs: number) => void;
}

/** A block with what it gave, and who said which block has its number. */
export interface Fetched {
  readonly outcome: Outcome;
  readonly upstream: string;
}

/** Fetches blocks with their receipts, and keeps asking while upstreams are only away. */
export class HistoryFetcher {
  readonly #options: FetchOptions;
  readonly #modules: FetchModules;
  #lastSuccess = performance.now();

  constructor(options: FetchOptions, modules: FetchModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** The block that an upstream says has this number, which need not be ours; undefined when none has one. */
  async guess(number: number): Promise<Fetched | undefined> {
    const { blocks, signal } = this.#modules;
    try {
      return await this.#patiently(async () => this.#complete(await blocks.byNumber(number, { signal })));
    } catch (error) {
      if (isUnknown(error)) return undefined;
      throw error;
    }
  }

  /** The block that our chain has there, whatever upstreams guessed. */
  async exact(ref: BlockRef, guessed: Fetched | undefined): Promise<Outcome> {
    const { blocks, source, signal } = this.#modules;
    const { number, hash } = ref;
    try {
      const found = await this.#patiently(async () => this.#complete(await blocks.byHash(hash, { signal })));
      // One that has our block too has only moved to another fork since; one that has not, and names another, lies.
      if (guessed !== undefined && guessed.upstream !== found.upstream) {
        source.report(guessed.upstream, { item: hash, what: `hash of block ${number}` });
      }
      return found.outcome;
    } catch (error) {
      if (!isUnknown(error)) throw error;
      throw new Error(
        `no upstream has block ${number} ${hash}, which the lowest block held builds on: ` +
          'name an upstream of the same chain that keeps blocks this old',
        { cause: error },
      );
    }
  }

  async #complete(block: ReadBlock): Promise<Fetched> {
    const { blocks, signal } = this.#modules;
    const outcome = await blocks.outcomeOf(block, { signal, prefer: block.upstream });
    return { outcome, upstream: block.upstream };
  }

  async #patiently<T>(fetch: () => Promise<T>): Promise<T> {
    const { patienceMs, retry } = this.#options;
    const { signal, onTrouble } = this.#modules;
    for (let failures = 1; ; failures++) {
      try {
        const found = await fetch();
        this.#lastSuccess = performance.now();
        return found;
      } catch (error) {
        const again = error instanceof SourceError && error.retryable && !isUnknown(error);
        if (!again || signal.aborted || performance.now() - this.#lastSuccess >= patienceMs) throw error;
        const retryMs = fullBackOffMs(retry, failures);
        onTrouble(error, retryMs);
        await delay(retryMs, undefined, { signal });
      }
    }
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof SourceError && error.type.code === 'unknownBlock';
}
