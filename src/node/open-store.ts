import { existsSync } from 'node:fs';
import type { Registry } from 'prom-client';
import { cqlOptions } from '../config/cql-options.ts';
import type { CommandOptions } from '../config/table.ts';
import type { WritingHealth } from '../follow/health/writing.ts';
import { leastUndoBlocks } from '../primitives/undo-window.ts';
import type { CqlStore } from '../store/cql/index.ts';
import { measureIndex, measureStoreRequests, measureWritten } from '../store/cql/metrics.ts';
import type { CqlReplica } from '../store/cql/replica.ts';
import { StoreError } from '../store/error.ts';
import { type LmdbStore, openLmdbStore, openWrittenStore } from '../store/lmdb/index.ts';
import { makeFolder } from '../store/lmdb/make-folder.ts';
import { measureStore } from '../store/lmdb/metrics.ts';
import { holdWriterLock } from '../store/lmdb/write/writer-lock.ts';
import { isBeingRestored } from '../store/restoring.ts';
import type { Logger } from '../telemetry/logger.ts';

/** What a node does: serve a store, which it may keep at the head of a chain itself, or write one for others. */
export type Role = 'serve' | 'ingest';

/** The store of a node: of its own, of a fleet as its one writer, or of a fleet that somebody else writes. */
export type NodeStore =
  | { readonly kind: 'own'; readonly store: LmdbStore }
  | { readonly kind: 'writer'; readonly store: CqlStore }
  | { readonly kind: 'replica'; readonly store: CqlReplica };

interface StoreModules {
  readonly role: Role;
  /** Where an ingester that waits can be asked how it is. */
  readonly admin: string | undefined;
  readonly writing: WritingHealth;
  readonly registry: Registry;
  readonly logger: Logger;
  readonly onFailure: (error: unknown) => void;
  readonly signal: AbortSignal;
  readonly onClose: (cleanup: () => Promise<void>) => void;
}

/** Opens the store that is configured. An ingester waits here while another writes. */
export async function openNodeStore(
  options: CommandOptions<'serve'>,
  modules: StoreModules,
): Promise<NodeStore> {
  const opened = await (options.store === undefined
    ? openOwn(options, modules)
    : modules.role === 'ingest'
      ? openWriter(options, modules)
      : openReplica(options, modules));
  modules.onClose(() => opened.store.close());
  return opened;
}

async function openOwn(options: CommandOptions<'serve'>, modules: StoreModules): Promise<NodeStore> {
  const { data: path, storeMapSize: mapSizeBytes, diskReserve: diskReserveBytes } = options;
  if (path === undefined) throw new Error('neither --data nor --store is given');
  const follows = options.upstream !== undefined;
  if (follows) makeFolder(path);
  else if (!existsSync(path)) {
    throw new Error(`${path} does not exist: import a chain first, or follow one with --upstream`);
  }
  const lock = follows ? holdWriterLock(path) : undefined;
  modules.onClose(async () => lock?.[Symbol.dispose]());
  const storeOptions = {
    ...{ path, mapSizeBytes, diskReserveBytes },
    undoWindow: leastUndoBlocks(options.undoWindow),
  };
  const { onFailure, writing } = modules;
  // Whoever follows must not stand still while a block is written: flashblocks come every 200 ms.
  const store = await (follows
    ? openWrittenStore(storeOptions, { onFailure, onTrouble: writing.hear })
    : openLmdbStore(storeOptions));
  measureStore(modules.registry, store);
  return { kind: 'own', store };
}

async function openWriter(
  options: CommandOptions<'serve'>,
  { logger, registry, admin, onFailure, signal }: StoreModules,
): Promise<NodeStore> {
  const { openCqlStore } = await import('../store/cql/index.ts');
  const onWait = (): void => logger.info({ admin }, 'waiting for the right to write');
  const store = await openCqlStore(await cqlOptions(options), { onFailure, wait: signal, onWait });
  try {
    if (await isBeingRestored(store))
      throw new StoreError(
        'conflict',
        'a restore of this store did not end: run it again, or use another chain=',
      );
  } catch (error) {
    await store.close();
    throw error;
  }
  logger.info({ epoch: store.epoch }, 'this ingester writes');
  measureStoreRequests(registry, () => store.requests);
  measureWritten(registry, store);
  return { kind: 'writer', store };
}

async function openReplica(options: CommandOptions<'serve'>, { registry }: StoreModules): Promise<NodeStore> {
  const { openCqlReplica } = await import('../store/cql/replica.ts');
  const store = await openCqlReplica(await cqlOptions(options));
  measureStoreRequests(registry, () => store.requests);
  measureIndex(registry, store);
  return { kind: 'replica', store };
}
