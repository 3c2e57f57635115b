import { type BlockSpan, blocksIn } from './block-span.ts';

/** How far back blocks can be taken off: to what is final, or as an operator says. */
export type UndoWindow = 'finalized' | BlockSpan;

const LEAST = 256;
/** As far as what is final is waited for. */
const MOST: BlockSpan = { blocks: LEAST, ms: 30 * 60_000 };
/** Of all windows that are given as a time: more would be blocks of less than 200 ms. */
const MOST_BLOCKS = 10_000;

/** The blocks that can be taken off a head; without a block that is final, it is looked for as far as the time allows. */
export function undoBlocks(
  window: UndoWindow,
  { head, finalized }: { readonly head: number; readonly finalized: number | undefined },
  blockTimeMs: number | undefined,
): number {
  const most = mostUndoBlocks(window);
  if (window !== 'finalized') return Math.min(most, blocksIn(window, blockTimeMs));
  const unfinal = finalized === undefined ? most : head - finalized;
  return Math.min(most, blocksIn(MOST, blockTimeMs), Math.max(LEAST, unfinal));
}

/** The same where nobody says what is final. */
export function leastUndoBlocks(window: UndoWindow): number {
  return window === 'finalized' ? LEAST : blocksIn(window, undefined);
}

/** As many as it can ever be. */
export function mostUndoBlocks(window: UndoWindow): number {
  return window === 'finalized' || window.ms > 0
    ? Math.max(MOST_BLOCKS, window === 'finalized' ? 0 : window.blocks)
    : window.blocks;
}
