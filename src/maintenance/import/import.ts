import { readFileSync } from 'node:fs';
import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { CommandOptions } from '../../config/table.ts';
import { NativeExecutor, readHeader } from '../../executor/native-executor.ts';
import { blockOptions } from '../../executor/options.ts';
import { chainConfigOf, GENESIS_META } from '../../follow/rules/genesis.ts';
import { restoreHotState } from '../../follow/state/restore.ts';
import type { Hex } from '../../primitives/hex.ts';
import { leastUndoBlocks } from '../../primitives/undo-window.ts';
import { headerAt } from '../../store/canonical-header.ts';
import type { Store } from '../../store/interface.ts';
import { openLmdbStore } from '../../store/lmdb/index.ts';
import { makeFolder } from '../../store/lmdb/make-folder.ts';
import { holdWriterLock } from '../../store/lmdb/write/writer-lock.ts';
import { storeLoader } from '../../store/state-loader.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { RlpFile } from './rlp-file.ts';

export interface ImportModules {
  readonly logger: Logger;
  /** Stops, and gives the block up that is being executed; what was executed before it is committed. */
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number | undefined) => void;
}

/** Executes and verifies the blocks of a file into a store, from where the store stands. */
export async function importChain(
  options: CommandOptions<'import'>,
  modules: ImportModules,
): Promise<{ readonly imported: number; readonly head: BlockRef }> {
  const genesis = readFileSync(options.genesis, 'utf8');
  const file = await RlpFile.open(options.blocks);
  try {
    return await importFile(options, { ...modules, genesis, file });
  } finally {
    await file.close();
  }
}

async function importFile(
  options: CommandOptions<'import'>,
  modules: ImportModules & { readonly genesis: string; readonly file: RlpFile },
): Promise<{ readonly imported: number; readonly head: BlockRef }> {
  const { data: path, storeMapSize: mapSizeBytes, diskReserve: diskReserveBytes } = options;
  const undoWindow = leastUndoBlocks(options.undoWindow);
  makeFolder(path);
  using _ = holdWriterLock(path);
  const store: Store = await openLmdbStore({ path, undoWindow, mapSizeBytes, diskReserveBytes });
  try {
    const { genesis } = modules;
    const executor = NativeExecutor.create(chainConfigOf(genesis), blockOptions(options), {
      load: storeLoader(store),
    });
    await begin(executor, store, genesis, options.hotWindow);
    return await importBlocks(options, { ...modules, executor, store });
  } finally {
    await store.close();
  }
}

/** Starts at genesis, or goes on at the head of a store that holds the same chain. */
async function begin(executor: NativeExecutor, store: Store, genesis: string, window: number): Promise<void> {
  const first = executor.startAtGenesis(genesis);
  const marks = await store.marks();
  if (marks === undefined) {
    await store.setMeta(GENESIS_META, genesis);
    await store.append([first]);
    return;
  }
  const { anchor, head } = marks;
  if (anchor.number !== first.number || anchor.hash !== first.hash) {
    throw new Error(
      `the store holds another chain: it begins with ${anchor.hash}, the genesis file with ${first.hash}`,
    );
  }
  await restoreHotState(executor, store, window);
  const root = await executor.loadCommitment(store.scanState(head.number));
  const { stateRoot } = readHeader(await headerAt(store, head.number));
  if (root !== stateRoot) {
    throw new Error(
      `the store is damaged: state at block ${head.number} hashes to ${root}, its header says ${stateRoot}`,
    );
  }
}

interface Work extends ImportModules {
  readonly executor: NativeExecutor;
  readonly store: Store;
  readonly file: RlpFile;
}

async function importBlocks(
  options: CommandOptions<'import'>,
  { logger, signal, onProgress, executor, store, file }: Work,
): Promise<{ readonly imported: number; readonly head: BlockRef }> {
  // Hot state must reach back to the last block committed: what it evicts is read from the store again.
  const batchSize = Math.min(options.importBatch, options.hotWindow);
  const batch: Outcome[] = [];
  let head = await headOf(store);
  let imported = 0;
  let seen = 0;
  const commit = async (): Promise<void> => {
    if (batch.length === 0) return;
    await store.append(batch);
    head = batch.at(-1) ?? head;
    imported += batch.length;
    batch.length = 0;
  };
  try {
    for await (const block of file.items()) {
      if (signal.aborted) break;
      seen++;
      const ref = readBlockHeader(block, seen);
      if (ref.number <= head.number + batch.length) {
        const known = batch[ref.number - head.number - 1]?.hash ?? (await store.canonicalHash(ref.number));
        expectSame(ref, known);
      } else {
        const outcome = await executeBlock(executor, block, ref, signal);
        if (outcome === undefined) break;
        batch.push(outcome);
        if (batch.length >= batchSize) await commit();
      }
      onProgress(seen, file.length);
    }
  } finally {
    // Blocks before one that failed are verified and stay.
    await commit();
    const last = await headOf(store);
    await store.mark({ safe: last, finalized: last });
  }
  logger.debug({ imported, head: head.number }, 'import ended');
  return { imported, head: { number: head.number, hash: head.hash } };
}

async function headOf(store: Store): Promise<BlockRef> {
  const marks = await store.marks();
  if (marks === undefined) throw new Error('the store holds no block');
  return marks.head;
}

function readBlockHeader(block: Uint8Array, place: number): BlockRef {
  try {
    return readHeader(block);
  } catch (cause) {
    throw new Error(`item ${place} of the file is not a block`, { cause });
  }
}

/** What a block gave; undefined when the signal came first. */
async function executeBlock(
  executor: NativeExecutor,
  block: Uint8Array,
  ref: BlockRef,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  try {
    return await executor.execute(block, undefined, signal);
  } catch (cause) {
    if (signal.aborted) return undefined;
    throw new Error(`block ${ref.number} ${ref.hash} is refused`, { cause });
  }
}

function expectSame(ref: BlockRef, known: Hex | undefined): void {
  if (known === ref.hash) return;
  throw new Error(
    `the file is of another chain: its block ${ref.number} is ${ref.hash}, the store's is ${known}`,
  );
}
