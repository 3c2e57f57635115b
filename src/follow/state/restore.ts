import type { NativeExecutor } from '../../executor/native-executor.ts';
import { headerAt } from '../../store/canonical-header.ts';
import { StoreError } from '../../store/error.ts';
import type { Store } from '../../store/interface.ts';

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
  // The store may have been written with a smaller window: what it holds diffs of is what can be restored.
  let first = last;
  while (first > lowest && (await store.diffBytes(first)) !== undefined) first--;
  executor.open(await headerAt(store, first));
  for (let number = first + 1; number <= last; number++) {
    const diff = await store.diffBytes(number);
    if (diff === undefined) throw new StoreError('corrupt', `block ${number} has no state diff`);
    executor.apply(await headerAt(store, number), diff);
  }
  return first;
}
