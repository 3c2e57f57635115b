import type { BlockRef } from '../../chain/outcome.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { BlockReader, ReadBlock } from './reader.ts';

type ByNumber = Pick<BlockReader, 'byNumber'>;
type Settled = readonly PromiseSettledResult<ReadBlock>[];

interface LinkedBlocks {
  readonly linked: readonly ReadBlock[];
  /** The first, whatever it stands on. */
  readonly first: PromiseSettledResult<ReadBlock> | undefined;
}

/** What is read, and of whom. */
interface Stretch {
  readonly last: number;
  /** Blocks that are read at the same time. */
  readonly size: number;
  readonly upstream: string;
  readonly signal: AbortSignal;
}

/** An upstream's blocks above ours, some at a time: while these are executed, the next are on their way. */
export class BlocksAhead {
  readonly #blocks: ByNumber;
  readonly #stretch: Stretch;
  #from: number;
  #reading: Promise<Settled> | undefined;

  constructor(blocks: ByNumber, above: BlockRef, stretch: Stretch) {
    this.#blocks = blocks;
    this.#stretch = stretch;
    this.#from = above.number + 1;
  }

  /** The next ones as far as they stand on `base`. Those after them are asked for at once. */
  async next(base: BlockRef): Promise<LinkedBlocks> {
    this.#reading ??= this.#read();
    const settled = await this.#reading;
    const next = linkedTo(base, settled);
    // What follows a gap stands on nothing that will be here.
    const isWhole = settled.length > 0 && next.linked.length === settled.length;
    this.#reading = isWhole ? this.#read() : Promise.resolve([]);
    return next;
  }

  #read(): Promise<Settled> {
    const { last, size, upstream, signal } = this.#stretch;
    const from = this.#from;
    const to = Math.min(last, from + size - 1);
    this.#from = to + 1;
    return readBetween(this.#blocks, from, to, upstream, signal);
  }
}

/** An upstream's blocks above one of its chain, as far as they stand on it. */
export async function readAbove(
  blocks: ByNumber,
  base: BlockRef,
  last: number,
  upstream: string,
  signal: AbortSignal,
): Promise<LinkedBlocks> {
  return linkedTo(base, await readBetween(blocks, base.number + 1, last, upstream, signal));
}

function readBetween(
  blocks: ByNumber,
  first: number,
  last: number,
  upstream: string,
  signal: AbortSignal,
): Promise<Settled> {
  const numbers = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
  // Of nobody else: a number means another block on another fork.
  const read = { signal, only: upstream };
  return Promise.allSettled(numbers.map((number) => blocks.byNumber(number, read)));
}

function linkedTo(base: BlockRef, settled: Settled): LinkedBlocks {
  const linked: ReadBlock[] = [];
  let parent: Hex = base.hash;
  for (const result of settled) {
    if (result.status === 'rejected' || result.value.parentHash !== parent) break;
    linked.push(result.value);
    parent = result.value.hash;
  }
  return { linked, first: settled[0] };
}
