import type { NativeExecutor } from '../../executor/native-executor.ts';
import { headerAt } from '../../store/canonical-header.ts';
import { StoreError } from '../../store/error.ts';
import type { Store } from '../../store/interface.ts';

/** Blocks that are read at the same time: of a store behind a network, one after the other would take seconds. */
const BLOCKS_AT_ONCE = 32;

/** A block as hot state takes it. */
interface Replayed {
  readonly header: Uint8Array;
  readonly diff: Uint8Array;
}

/**
 * Fills hot state with the last blocks of a store, so that they are read from memory and can be taken back; with `upTo`,
 * with those that end there, as if the ones above were gone. The first of them.
 */
export async function restoreHotState(
  executor: Pick<NativeExecutor, 'open' | 'apply'>,
  store: Pick<Store, 'marks' | 'diffBytes' | 'canonicalHash' | 'header'>,
  window: number,
  upTo?: number,
): Promise<number> {
  const marks = await store.marks();
  if (marks === undefined) throw new StoreError('outOfRange', 'the store holds no block');
  const last = upTo ?? marks.head.number;
  const lowest = Math.max(marks.anchor.number, last - window + 1);
  const blocks = await readBlocks(store, lowest + 1, last);
  const first = last - blocks.length;
  executor.open(await headerAt(store, first));
  for (const { header, diff } of blocks) executor.apply(header, diff);
  return first;
}

/** The blocks up to `last` that are held with their diffs without a gap, from `lowest` on at most. */
async function readBlocks(
  store: Pick<Store, 'diffBytes' | 'canonicalHash' | 'header'>,
  lowest: number,
  last: number,
): Promise<readonly Replayed[]> {
  const blocks: Replayed[] = [];
  for (let to = last; to >= lowest; to -= BLOCKS_AT_ONCE) {
    const from = Math.max(lowest, to - BLOCKS_AT_ONCE + 1);
    const read = await Promise.all(
      Array.from({ length: to - from + 1 }, async (_, at) => {
        const diff = await store.diffBytes(from + at);
        // Copied: views of an embedded store's pages last for this turn only.
        return (
          diff && { diff: Uint8Array.from(diff), header: Uint8Array.from(await headerAt(store, from + at)) }
        );
      }),
    );
    // The store may have been written with a smaller window: what it holds diffs of is what can be restored.
    const gap = read.lastIndexOf(undefined);
    blocks.unshift(...read.slice(gap + 1).filter((block) => block !== undefined));
    if (gap >= 0) break;
  }
  return blocks;
}
