import { setTimeout as pause } from 'node:timers/promises';
import type { DevChain } from '../chain.ts';
import { FlashblockCutter, type FlashblockMessage } from './flashblocks.ts';

const FLASHBLOCK_MS = 200;
const FLASHBLOCKS_PER_BLOCK = 10;

/**
 * Grows a chain until the signal aborts: the block so far every 200 ms, sealed every 2 s. What came last is published
 * with the sealed block, and the next one begins at once.
 */
export async function runSequencer(
  chain: Pick<DevChain, 'open'>,
  publish: (message: FlashblockMessage) => void,
  signal: AbortSignal,
  everyMs = FLASHBLOCK_MS,
): Promise<void> {
  const cutter = new FlashblockCutter();
  for (let due = performance.now(); ; ) {
    const block = await chain.open();
    for (let count = 0; count < FLASHBLOCKS_PER_BLOCK; count += 1) {
      publish(cutter.cut(await block.extend()));
      const now = performance.now();
      // Late ones are not made up for.
      due = Math.max(due + everyMs, now);
      await pause(due - now, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
    }
    publish(cutter.cut(await block.seal()));
  }
}
