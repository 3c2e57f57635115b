import { setTimeout as delay } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { cqlOptions } from '../../config/cql-options.ts';
import type { CommandOptions } from '../../config/table.ts';
import type { FeedEvent } from '../../feed/interface.ts';
import { measureStoreRequests } from '../../store/cql/metrics.ts';
import type { CqlReplica } from '../../store/cql/replica.ts';
import { isUnavailable } from '../../store/error.ts';
import { type LmdbStore, openLmdbStore } from '../../store/lmdb/index.ts';

/** Between two attempts to show what the main thread does, and for how long they are made: then the node begins anew. */
const PAUSE_MS = 100;
const PATIENCE_MS = 60_000;

/** The store that a thread reads. */
export interface ServedStore {
  readonly store: LmdbStore | CqlReplica;
  /** Has it show what an event is true of, and then has the event applied. */
  follow(event: FeedEvent, position: string | undefined, apply: () => Promise<void>): Promise<void>;
}

/** Opens the store of the process for one of its threads. */
export async function openServedStore(
  options: CommandOptions<'serve'>,
  position: string | undefined,
  registry: Registry,
): Promise<ServedStore> {
  if (options.store === undefined) {
    if (options.data === undefined) throw new Error('neither --data nor --store is given');
    const store = await openLmdbStore({ path: options.data, mapSizeBytes: options.storeMapSize });
    // What was written can be read by all threads.
    return { store, follow: (_, __, apply) => apply() };
  }
  const { openCqlReplica } = await import('../../store/cql/replica.ts');
  const store = await openCqlReplica(await cqlOptions(options), 'thread');
  measureStoreRequests(registry, () => store.requests);
  if (position !== undefined) await store.seek(position);
  return {
    store,
    follow: (event, at, apply) =>
      untilAvailable(async () => {
        if (at !== undefined) {
          // Told already: they need not be read.
          if (event.kind === 'confirmed') for (const { outcome } of event.added) store.offer(outcome);
          await store.seek(at);
        }
        await apply();
      }),
  };
}

/** Tries again while servers do not answer. */
async function untilAvailable(work: () => Promise<void>): Promise<void> {
  const began = performance.now();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error) || performance.now() - began > PATIENCE_MS) throw error;
    }
    await delay(PAUSE_MS);
  }
}
