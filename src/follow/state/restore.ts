import type { NativeExecutor } from '../../executor/native-executor.ts';
import { headerAt } from '../../store/canonical-header.ts';
import { StoreError } from '../../store/error.ts';
import type { Store } from '../../store/interface.ts';

/** Fills hot state with the last blocks of a store, so that they are read from memory and can be taken back. */
export async function restoreHotState(
  executor: Pick<NativeExecutor, 'open' | 'apply'>,
  store: Store,
  window: number,
): Promise<void> {
  const marks = await store.marks();
  if (marks === undefined) throw new StoreError('outOfRange', 'the store holds no block');
  const { anchor, head } = marks;
  const lowest = Math.max(anchor.number, head.number - window + 1);
  // The store may have been written with a smaller window: what it holds diffs of is what can be restored.
  let first = head.number;
  while (first > lowest && (await store.diffBytes(first)) !== undefined) first--;
  executor.open(await headerAt(store, first));
  for (let number = first + 1; number <= head.number; number++) {
    const diff = await store.diffBytes(number);
    if (diff === undefined) throw new StoreError('corrupt', `block ${number} has no state diff`);
    executor.apply(await headerAt(store, number), diff);
  }
}
