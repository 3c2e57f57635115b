import type { Flashblock } from '../../../src/source/flashblocks/flashblock.ts';
import type { SequenceInput } from '../../../src/source/flashblocks/sequence.ts';
import { BLOCK_SIZE } from './flashblocks.ts';

/** What a stream does with a flashblock: how often it sends it, and how much later than the one before each copy is. */
export interface Delivery {
  readonly copies: number;
  readonly delayMs: number;
}

const FLASHBLOCK_MS = 200;

/** Flashblocks as streams deliver them; one without a delivery for each begins again with its first. */
export function arrivals(
  sequence: readonly Flashblock[],
  streams: readonly (readonly Delivery[])[],
): Extract<SequenceInput, { readonly kind: 'arrival' }>[] {
  return streams.flatMap((deliveries, name) =>
    sequence.flatMap((flashblock, order) => {
      const { copies, delayMs } = deliveries[order % deliveries.length] ?? { copies: 1, delayMs: 0 };
      return Array.from({ length: copies }, (_, copy) => ({
        ...{ kind: 'arrival' as const, flashblock, stream: `stream ${name}` },
        at: order * FLASHBLOCK_MS + delayMs * (copy + 1),
      }));
    }),
  );
}

/** When blocks 1, 2, … are sealed, each so much later than its last flashblock: late, but in order. */
export function sealedAt(delays: readonly number[]): readonly number[] {
  let last = 0;
  return delays.map((delayMs, at) => {
    last = Math.max(last, (at + 1) * BLOCK_SIZE * FLASHBLOCK_MS + delayMs);
    return last;
  });
}
