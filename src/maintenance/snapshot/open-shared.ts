import { setTimeout as delay } from 'node:timers/promises';
import { CQL_DEFAULTS, type CqlStoreOptions } from '../../store/cql/options.ts';
import { isUnavailable } from '../../store/error.ts';
import type { StoreReader } from '../../store/interface.ts';
import type { Source, Target } from './ends.ts';
import { SnapshotError } from './error.ts';

/** Between two looks at what others write: well below what rows stay for that are still looked for. */
const LOOK_MS = 500;
/** A writer that is gone has lost its right by then. */
const LEASES_WAITED = 3;

/** A store in CQL that is read, while an ingester may write to it. */
export async function openSharedSource(options: CqlStoreOptions): Promise<Source> {
  const { openCqlReplica } = await import('../../store/cql/replica.ts');
  const store = await openCqlReplica(options);
  const stop = new AbortController();
  const look = async (): Promise<void> => {
    for (;;) {
      await delay(LOOK_MS, undefined, { signal: stop.signal }).catch(() => {});
      if (stop.signal.aborted) return;
      await store.sync().catch((error: unknown) => {
        // Reads say so once what was seen is too old.
        if (!isUnavailable(error)) throw error;
      });
    }
  };
  try {
    await store.sync();
  } catch (error) {
    await store.close();
    throw error;
  }
  const looking = Promise.allSettled([look()]);
  return {
    store,
    async close() {
      stop.abort();
      const [looked] = await looking;
      await store.close();
      if (looked.status === 'rejected') throw looked.reason;
    },
  };
}

/**
 * A store in CQL to restore into, once nobody else writes it. Until it is whole it says of itself that it is being restored, and who
 * would write or serve it refuses. Its rows stay when it comes to nothing: another name (`chain=`) is cheaper than deleting them.
 */
export async function openSharedTarget(
  options: CqlStoreOptions,
  isOwn: (store: StoreReader) => Promise<boolean>,
  signal: AbortSignal,
): Promise<Target> {
  const failed = Promise.withResolvers<never>();
  // Looked at in the end.
  failed.promise.catch(() => {});
  const patienceMs = LEASES_WAITED * (options.leaseMs ?? CQL_DEFAULTS.leaseMs);
  const { openCqlStore } = await import('../../store/cql/index.ts');
  const store = await openCqlStore(options, { onFailure: failed.reject, wait: signal, patienceMs });
  try {
    if (!(await isOwn(store)))
      throw new SnapshotError(
        `the store holds a chain ${options.chain} already: restore under another name (?chain=NAME)`,
      );
  } catch (error) {
    await store.close();
    throw error;
  }
  const leave = (): Promise<void> => store.close();
  return {
    store,
    leave,
    discard: leave,
    async complete() {
      await Promise.race([store.indexed(), failed.promise]);
      await leave();
    },
  };
}
