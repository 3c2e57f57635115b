import { accessSync } from 'node:fs';
import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { CommandOptions } from '../../config/table.ts';
import { UsageError } from '../../config/usage-error.ts';
import { isUnsupported } from '../../executor/errors.ts';
import { NativeExecutor } from '../../executor/native-executor.ts';
import { blockOptions } from '../../executor/options.ts';
import { parentHashOf } from '../../follow/blocks/header-links.ts';
import { BlockReader, type BlockReaderModules } from '../../follow/blocks/reader.ts';
import { expectChainId, rulesOfCopy } from '../../follow/rules/chain-rules.ts';
import { SourceError } from '../../source/errors.ts';
import type { SourceEvent } from '../../source/pool/events.ts';
import { DEFAULT_SOURCE_OPTIONS, poolOptions } from '../../source/pool/options.ts';
import { RpcSource } from '../../source/rpc-source.ts';
import { headerAt } from '../../store/canonical-header.ts';
import { StoreError } from '../../store/error.ts';
import type { Marks, Store } from '../../store/interface.ts';
import { openLmdbStore } from '../../store/lmdb/index.ts';
import { storeLoader } from '../../store/state-loader.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { ImportModules } from '../import/import.ts';
import { type Fetched, HistoryFetcher } from './fetch.ts';

/** What a backfill did. */
export interface Backfilled {
  readonly blocks: number;
  readonly logs: number;
  readonly lowest: BlockRef;
}

/** Bytes of blocks and logs that are committed together at most; they are in memory until then. */
const MAX_BATCH_BYTES = 2 ** 25;
const TROUBLE_MS = 5_000;
const RETRY = { firstMs: 500, maxMs: 30_000 };

/** Adds history below the lowest block of a store, from upstreams, each block proven by the hash of the one above. */
export async function backfill(
  options: CommandOptions<'backfill'>,
  modules: ImportModules,
): Promise<Backfilled> {
  const store = await openExisting(options);
  const pool = poolOptions(options);
  const witness = new Witness(modules.logger);
  const source = new RpcSource(
    options.upstream,
    { ...DEFAULT_SOURCE_OPTIONS, pool },
    { observe: witness.observe },
  );
  try {
    const nothing = new Error(
      `${options.data} holds no chain yet: begin one with serve --upstream, or import one`,
    );
    const rules = await rulesOfCopy(store, nothing);
    const marks = await store.marks();
    if (marks === undefined) throw nothing;
    const range = rangeBelow(marks, options);
    if (range === undefined) return { blocks: 0, logs: 0, lowest: marks.lowest };
    const executor = NativeExecutor.create(rules, blockOptions(options), { load: storeLoader(store) });
    await expectChainId(source, executor.chainId, modules.signal);
    return await fetchDownwards(range, options, { ...modules, store, source, executor });
  } catch (error) {
    throw witness.testify(error);
  } finally {
    source.close();
    await store.close();
  }
}

/** Remembers what upstreams lied about: when all of them did, that is what needs to be known. */
class Witness {
  readonly #logger: Logger;
  #lie: string | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  readonly observe = (event: SourceEvent): void => {
    if (event.kind !== 'banned') return;
    const { upstream, item, what } = event;
    this.#lie = `${upstream} about ${item}: ${what}`;
    this.#logger.warn({ upstream, item, what }, 'an upstream gave a false answer');
  };

  testify(error: unknown): unknown {
    const lied = error instanceof SourceError && error.type.code === 'noUpstream';
    return lied && this.#lie !== undefined
      ? new Error(`${error.message}, last ${this.#lie}`, { cause: error })
      : error;
  }
}

async function openExisting(options: CommandOptions<'backfill'>): Promise<Store> {
  const { data: path, storeMapSize: mapSizeBytes, diskReserve: diskReserveBytes } = options;
  try {
    // LMDB would make the folder.
    accessSync(path);
  } catch (cause) {
    throw new Error(`there is no store at ${path}: begin one with serve --upstream, or import one`, {
      cause,
    });
  }
  return openLmdbStore({ path, mapSizeBytes, diskReserveBytes });
}

export interface Range {
  readonly from: number;
  /** The block directly below the lowest held. */
  readonly to: number;
  readonly lowest: BlockRef;
}

/** What is left to fetch; undefined when all of it is held. */
export function rangeBelow(
  { lowest, head }: Marks,
  { from, to }: { readonly from: number; readonly to: number | undefined },
): Range | undefined {
  const next = lowest.number - 1;
  if (to !== undefined && from > to) throw new UsageError(`--from ${from} is above --to ${to}`);
  if (to !== undefined && to < next) {
    throw new UsageError(
      `--to ${to} would leave a gap: blocks ${to + 1} to ${next} are not held either, and history grows ` +
        `downwards from block ${lowest.number}. Leave --to out, or give --to ${next}`,
    );
  }
  if ((to ?? from) > head.number) {
    throw new UsageError(
      `block ${to ?? from} is above the head ${head.number}: serve --upstream follows the chain there`,
    );
  }
  return from > next ? undefined : { from, to: next, lowest };
}

export interface BackfillModules extends ImportModules, BlockReaderModules {
  readonly store: Store;
}

export type BackfillLimits = Pick<
  CommandOptions<'backfill'>,
  'backfillInFlight' | 'backfillBatch' | 'backfillPatienceMs'
>;

type Guess =
  | { readonly kind: 'fetched'; readonly fetched: Fetched | undefined }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Fetches ahead by number, and takes what links to the block above; the rest is asked for by hash. */
export async function fetchDownwards(
  { from, to, lowest: start }: Range,
  options: BackfillLimits,
  { store, source, executor, logger, signal, onProgress }: BackfillModules,
): Promise<Backfilled> {
  const stop = new AbortController();
  const fetcher = new HistoryFetcher(
    { patienceMs: options.backfillPatienceMs, retry: RETRY },
    {
      source,
      blocks: new BlockReader({ source, executor }),
      signal: AbortSignal.any([signal, stop.signal]),
      onTrouble: oncePer(TROUBLE_MS, ({ message }, retryMs) =>
        logger.warn({ reason: message, retryMs }, 'upstreams fail: trying again'),
      ),
    },
  );
  const ahead: Promise<Guess>[] = [];
  let next = to;
  const fill = (): void => {
    while (next >= from && ahead.length < options.backfillInFlight) {
      ahead.push(settled(fetcher.guess(next)));
      next--;
    }
  };
  const batch = new Batch(store);
  onProgress(0, to - from + 1);
  let parent = parentHashOf(await headerAt(store, start.number));
  try {
    for (let number = to; number >= from; number--) {
      fill();
      const guess = await ahead.shift();
      signal.throwIfAborted();
      const outcome = await accept(guess, { number, hash: parent }, fetcher).catch((error: unknown) => {
        throw explained(error, number);
      });
      batch.add(outcome);
      parent = outcome.parentHash;
      // Fetching goes on while a batch is written.
      fill();
      if (batch.isFull(options.backfillBatch)) {
        await batch.commit();
        onProgress(batch.blocks, to - from + 1);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stop.abort();
    // Blocks above one that failed are verified and stay.
    await batch.commit();
    onProgress(batch.blocks, to - from + 1);
  }
  return { blocks: batch.blocks, logs: batch.logs, lowest: batch.lowest ?? start };
}

/** Every block that is being fetched meets the same trouble: one line says it. */
function oncePer<Args extends readonly unknown[]>(
  pauseMs: number,
  run: (...args: Args) => void,
): (...args: Args) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (...args) => {
    const now = performance.now();
    if (now - last < pauseMs) return;
    last = now;
    run(...args);
  };
}

/** What was guessed, if it is the block that must be there; else that one. */
async function accept(guess: Guess | undefined, ref: BlockRef, fetcher: HistoryFetcher): Promise<Outcome> {
  if (guess?.kind === 'failed') throw guess.error;
  const fetched = guess?.fetched;
  return fetched?.outcome.hash === ref.hash ? fetched.outcome : fetcher.exact(ref, fetched);
}

/** What the native core cannot read, such as a block with uncles, no upstream can mend. */
function explained(error: unknown, number: number): unknown {
  if (!isUnsupported(error)) return error;
  return new Error(
    `history ends here: ${error.message}. What is above is kept; end with --from ${number + 1} to stop before it`,
    { cause: error },
  );
}

/** A failure that nobody waits for yet must not end the process. */
function settled(work: Promise<Fetched | undefined>): Promise<Guess> {
  return work.then(
    (fetched) => ({ kind: 'fetched', fetched }),
    (error: unknown) => ({ kind: 'failed', error }),
  );
}

/** Blocks that are linked and not written yet, and what was written so far. */
class Batch {
  blocks = 0;
  logs = 0;
  lowest: BlockRef | undefined;
  readonly #store: Store;
  /** Descending. */
  #outcomes: Outcome[] = [];
  #bytes = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  add(outcome: Outcome): void {
    this.#outcomes.push(outcome);
    this.#bytes += outcome.block.length;
    for (const { data } of outcome.logs) this.#bytes += data.length + 200;
  }

  isFull(maxBlocks: number): boolean {
    return this.#outcomes.length >= maxBlocks || this.#bytes >= MAX_BATCH_BYTES;
  }

  async commit(): Promise<void> {
    const outcomes = this.#outcomes.toReversed();
    this.#outcomes = [];
    this.#bytes = 0;
    const [first] = outcomes;
    if (first === undefined) return;
    try {
      await this.#store.prepend(outcomes);
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'conflict')) throw error;
      const lowest = (await this.#store.marks())?.lowest.number;
      throw new Error(
        `the lowest block is ${lowest} by now: another backfill works on this store, or a serve re-anchored it ` +
          'or deletes its old blocks (--history). Stop that and run this again',
        { cause: error },
      );
    }
    this.blocks += outcomes.length;
    for (const { logs } of outcomes) this.logs += logs.length;
    this.lowest = { number: first.number, hash: first.hash };
  }
}
