/** A part of the chain that ends with its head: so many blocks or so much time, whichever is more blocks. */
export interface BlockSpan {
  readonly blocks: number;
  readonly ms: number;
}

/** Taken for the time between two blocks while it is not known. */
const ASSUMED_BLOCK_TIME_MS = 2_000;

/** How many blocks a span is, with so much time from one to the next. */
export function blocksIn({ blocks, ms }: BlockSpan, blockTimeMs: number | undefined): number {
  return Math.max(blocks, Math.ceil(ms / (blockTimeMs ?? ASSUMED_BLOCK_TIME_MS)));
}
