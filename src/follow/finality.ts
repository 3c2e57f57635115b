import type { BlockRef } from '../chain/outcome.ts';
import type { PublishToFeed } from '../feed/interface.ts';
import { SourceError } from '../source/errors.ts';
import type { ChainSource } from '../source/interface.ts';
import { isUnwritable, StoreError } from '../store/error.ts';
import type { Store } from '../store/interface.ts';

export interface FinalityModules {
  readonly store: Pick<Store, 'marks' | 'mark' | 'canonicalHash'>;
  readonly source: Pick<ChainSource, 'finality'>;
  readonly publish: PublishToFeed;
}

/**
 * Takes over what the leader calls safe and final, where that is on our chain and above what was marked before. Nobody
 * else's word counts: what is final can never be taken back. What it does not say is looked at again later.
 */
export async function markFinality(
  { store, source, publish }: FinalityModules,
  leader: string,
  signal: AbortSignal,
): Promise<void> {
  const finality = await source.finality({ signal, only: leader }).then(
    ({ value }) => value,
    (error: unknown) => {
      if (error instanceof SourceError || signal.aborted) return undefined;
      throw error;
    },
  );
  const before = await store.marks();
  if (finality === undefined || before === undefined) return;
  const moved: { safe?: BlockRef; finalized?: BlockRef } = {};
  for (const name of ['safe', 'finalized'] as const) {
    const ref = finality[name];
    if (ref === undefined || ref.number <= (before[name]?.number ?? -1)) continue;
    if ((await store.canonicalHash(ref.number)) === ref.hash) moved[name] = ref;
  }
  if (Object.keys(moved).length === 0) return;
  try {
    await store.mark(moved);
  } catch (error) {
    // Taken off the chain since it was looked up, or no room on the disk: the next look will tell.
    if (isUnwritable(error) || (error instanceof StoreError && error.code === 'conflict')) return;
    throw error;
  }
  void publish({ kind: 'marked' });
}
