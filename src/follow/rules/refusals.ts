import type { BlockRef } from '../../chain/outcome.ts';
import type { Clock } from '../../source/clock.ts';
import { SourceError } from '../../source/errors.ts';
import type { ChainSource, UpstreamAnswer } from '../../source/interface.ts';

export interface RefusalsOptions {
  /** How long the only upstream must have built on a block that our rules refuse, until it counts as the chain's. */
  readonly refusedAfter: number;
}

export interface RefusalsModules {
  readonly source: Pick<ChainSource, 'head' | 'hashAt' | 'status'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** A block that our rules refuse, and who gave it. */
export interface Refused {
  readonly block: BlockRef;
  readonly upstream: string;
  readonly reason: string;
}

/**
 * Tells whether a block that our rules refuse is the chain's (B16): another upstream has it canonical or, where nobody else
 * says anything of its height, the one that gave it has built on it for a while.
 */
export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #modules: RefusalsModules;
  #refused: (Refused & { readonly since: number }) | undefined;
  #isChains = false;

  constructor(options: RefusalsOptions, modules: RefusalsModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** The block that our rules refuse and that is the chain's. */
  get ofChain(): Refused | undefined {
    return this.#isChains ? this.#refused : undefined;
  }

  /** A block was refused, again or for the first time. */
  async refused(refused: Refused, signal: AbortSignal): Promise<void> {
    if (this.#refused?.block.hash !== refused.block.hash) {
      this.#refused = { ...refused, since: this.#modules.clock.now() };
      this.#isChains = false;
    }
    // What counted as the chain's does so until a reorg: it may be retried for days.
    if (!this.#isChains) this.#isChains = await this.#isOfChain(this.#refused, signal);
  }

  /** The copy has a verified block of this number: what was refused at it, or below, is over. */
  moved({ number }: BlockRef): void {
    if (this.#refused === undefined || number < this.#refused.block.number) return;
    this.#refused = undefined;
    this.#isChains = false;
  }

  async #isOfChain(
    { block, upstream, since }: Refused & { readonly since: number },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { source, clock } = this.#modules;
    const others = source
      .status()
      .filter(
        ({ name, outForMs, otherChain }) => name !== upstream && outForMs === 0 && otherChain === undefined,
      );
    const hashes = await Promise.all(others.map(({ name }) => this.#hashAt(block.number, name, signal)));
    if (hashes.includes(block.hash)) return true;
    const isDenied = hashes.some((hash) => hash !== undefined);
    if (isDenied || clock.now() - since < this.#options.refusedAfter) return false;
    const head = await answered(source.head({ signal, only: upstream }), signal);
    const isBuiltOn = (head?.value.number ?? 0) > block.number;
    return isBuiltOn && (await this.#hashAt(block.number, upstream, signal)) === block.hash;
  }

  async #hashAt(number: number, only: string, signal: AbortSignal): Promise<string | undefined> {
    return (await answered(this.#modules.source.hashAt(number, { signal, only }), signal))?.value;
  }
}

/** An answer, if there is one. */
async function answered<T>(
  asked: Promise<UpstreamAnswer<T> | undefined>,
  signal: AbortSignal,
): Promise<UpstreamAnswer<T> | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof SourceError || signal.aborted) return undefined;
    throw error;
  }
}
