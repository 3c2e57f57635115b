import { describe, expect, it } from 'vitest';
import { blocksIn } from './block-span.ts';
import { leastUndoBlocks, mostUndoBlocks, undoBlocks } from './undo-window.ts';

describe('limits hold for blocks of 200 ms and of 12 s (B18)', () => {
  it.each([
    [{ blocks: 2_000, ms: 3_600_000 }, 200, 18_000],
    [{ blocks: 2_000, ms: 3_600_000 }, 12_000, 2_000],
    [{ blocks: 0, ms: 30_000 }, 200, 150],
    [{ blocks: 0, ms: 30_000 }, 12_000, 3],
    [{ blocks: 16, ms: 0 }, 200, 16],
    [{ blocks: 0, ms: 30_000 }, undefined, 15],
  ])('%j at %s ms is %s blocks', (span, blockTimeMs, blocks) => {
    expect(blocksIn(span, blockTimeMs)).toBe(blocks);
  });

  it.each([
    // What is final, within 256 blocks and 30 minutes.
    ['final far below', 5_000, 200, 5_000],
    ['final near', 64, 12_000, 256],
    ['final too far below', 20_000, 200, 9_000],
    ['slow blocks, final far below', 1_000, 12_000, 256],
    ['blocks of 2 s', 600, 2_000, 600],
    ['nothing final yet', undefined, 200, 9_000],
    ['nothing known', undefined, undefined, 900],
    ['blocks of a millisecond', undefined, 1, 10_000],
  ])('undo, by default, with %s', (_, unfinal, blockTimeMs, blocks) => {
    const head = 100_000;
    const finalized = unfinal === undefined ? undefined : head - unfinal;
    expect(undoBlocks('finalized', { head, finalized }, blockTimeMs)).toBe(blocks);
  });

  it('undo, as an operator writes it', () => {
    const marks = { head: 100_000, finalized: 99_990 };
    expect(undoBlocks({ blocks: 32, ms: 0 }, marks, 200)).toBe(32);
    expect(undoBlocks({ blocks: 0, ms: 600_000 }, marks, 200)).toBe(3_000);
    expect(undoBlocks({ blocks: 512, ms: 600_000 }, marks, 12_000)).toBe(512);
    expect(undoBlocks({ blocks: 0, ms: 86_400_000 }, marks, 200)).toBe(10_000);
    expect([leastUndoBlocks('finalized'), mostUndoBlocks('finalized')]).toEqual([256, 10_000]);
    expect([leastUndoBlocks({ blocks: 8, ms: 0 }), mostUndoBlocks({ blocks: 8, ms: 0 })]).toEqual([8, 8]);
    expect(mostUndoBlocks({ blocks: 20_000, ms: 1 })).toBe(20_000);
  });
});
