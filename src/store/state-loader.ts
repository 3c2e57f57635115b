import { StateUnavailableError } from '../primitives/errors.ts';
import { StoreError } from './error.ts';
import type { Store } from './interface.ts';

/** Loads state for the native core from a store, and refuses to answer for a block that is not canonical any more. */
export function storeLoader(store: Pick<Store, 'loadState'>): Store['loadState'] {
  return async (keys, number, of) => {
    try {
      return await store.loadState(keys, number, of);
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'reorganised')) throw error;
      throw new StateUnavailableError(`block ${of?.number} ${of?.hash} was taken off the chain`);
    }
  };
}
