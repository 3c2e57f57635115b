import type { StoreReader } from './interface.ts';

/** Name under which a store says that it is being restored, and from which snapshot; empty once it is whole. */
export const RESTORING_META = 'restoring';

/** Whether a store holds what a restore has written so far, which nobody may take for a chain. */
export async function isBeingRestored(store: Pick<StoreReader, 'getMeta'>): Promise<boolean> {
  return ((await store.getMeta(RESTORING_META)) ?? '') !== '';
}
