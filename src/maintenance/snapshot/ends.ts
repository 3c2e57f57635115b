import type { Store, StoreReader } from '../../store/interface.ts';

/** A store that is only read. */
export interface Source {
  readonly store: StoreReader;
  close(): Promise<void>;
}

/** A store that is being made. */
export interface Target {
  readonly store: Store;
  /** Closes it, and gives it its place: from now on it is found there. */
  complete(): Promise<void>;
  /** Closes it as it is: not found by anybody but another run of the same. */
  leave(): Promise<void>;
  /** Closes it, and deletes what was written. */
  discard(): Promise<void>;
}
