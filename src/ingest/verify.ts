import { accessSync } from 'node:fs';
import type { BlockRef, Outcome } from '../chain/outcome.ts';
import { encodeReceipts } from '../chain/receipt-codec.ts';
import type { CommandOptions } from '../config/table.ts';
import { NativeExecutor, readHeader } from '../executor/native-executor.ts';
import { blockOptions } from '../executor/options.ts';
import { toHex } from '../primitives/hex.ts';
import type { BlockLogs, LogQuery, Marks, Store } from '../store/interface.ts';
import { openLmdbStore } from '../store/lmdb/index.ts';
import { ExpectedState } from './expected-state.ts';
import type { ImportModules } from './import.ts';
import { chainConfigOf, GENESIS_META, headerAt, storeLoader } from './restore.ts';

/** A stored row that is not what executing the chain gives. */
export class VerificationError extends Error {
  override readonly name = 'VerificationError';
}

/**
 * Executes every stored block again from genesis and compares all that the store would serve with what that gives:
 * links, receipts, logs, the log index, every version of every key, and the state root at the head.
 */
export async function verifyStore(
  options: CommandOptions<'verify'>,
  modules: ImportModules,
): Promise<{ readonly verified: number; readonly head: BlockRef }> {
  const store = await openExisting(options);
  try {
    const genesis = await store.getMeta(GENESIS_META);
    const marks = await store.marks();
    if (genesis === undefined || marks === undefined) throw new VerificationError('the store holds no chain');
    const executor = NativeExecutor.create(chainConfigOf(genesis), blockOptions(options), {
      load: storeLoader(store),
    });
    const { anchor, head } = marks;
    const state = new ExpectedState();
    let hasDiff = false;
    let verified = 0;
    for (let number = anchor.number; number <= head.number; number++) {
      if (modules.signal.aborted) return { verified, head };
      await atBlock(number, async () => {
        const outcome =
          number === anchor.number
            ? executor.startAtGenesis(genesis)
            : await executor.execute(await blockAt(store, number));
        await checkBlock(store, outcome);
        hasDiff = await checkDiff(store, outcome, hasDiff);
        expect(outcome, 'state', await state.agrees(store, outcome));
      });
      verified++;
      modules.onProgress(verified, head.number + 1);
    }
    await atBlock(head.number, () => checkHead(store, executor, head, state));
    await checkMarks(store, marks);
    return { verified, head };
  } finally {
    await store.close();
  }
}

async function openExisting(options: CommandOptions<'verify'>): Promise<Store> {
  const { data: path, undoWindow, storeMapSize: mapSizeBytes } = options;
  try {
    // LMDB would make the folder before it finds that it is empty.
    accessSync(path);
    return await openLmdbStore({ path, undoWindow, mapSizeBytes, readOnly: true });
  } catch (cause) {
    throw new Error(`there is no store at ${path}: import a chain first`, { cause });
  }
}

/** Names the block at which anything went wrong: rows that cannot even be read are damage too. */
async function atBlock(number: number, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (error instanceof VerificationError) throw error;
    throw new VerificationError(`block ${number} does not verify`, { cause: error });
  }
}

async function blockAt(store: Store, number: number): Promise<Uint8Array> {
  const hash = await store.canonicalHash(number);
  const block = hash === undefined ? undefined : await store.block({ number, hash });
  if (block === undefined) throw new VerificationError(`block ${number} is missing`);
  return block;
}

function expect({ number, hash }: BlockRef, what: string, same: boolean): void {
  if (same) return;
  throw new VerificationError(`block ${number} ${hash}: the stored ${what} is not what executing it gives`);
}

async function checkBlock(store: Store, outcome: Outcome): Promise<void> {
  const { number, hash } = outcome;
  expect(outcome, 'hash', (await store.canonicalHash(number)) === hash);
  expect(outcome, 'number', (await store.numberOf(hash)) === number);
  expect(outcome, 'header', isSame(await store.header(outcome), outcome.header));
  expect(outcome, 'block', isSame(await store.block(outcome), outcome.block));
  const stored = await store.receipts(outcome);
  const receipts = encodeReceipts(outcome.receipts);
  expect(outcome, 'receipts', stored !== undefined && isSame(encodeReceipts(stored.receipts), receipts));
  const logs = await store.blockLogs(outcome);
  const same = logs !== undefined && logs.timestamp === outcome.timestamp && sameLogs(logs, outcome);
  expect(outcome, 'logs', same);
  expect(outcome, 'log index', await indexIsExact(store, outcome));
}

/** Only the last blocks keep their diff, but those without a gap. */
async function checkDiff(store: Store, outcome: Outcome, expected: boolean): Promise<boolean> {
  const diff = await store.diffBytes(outcome.number);
  if (diff === undefined && !expected) return false;
  expect(outcome, 'state diff', isSame(diff, outcome.diffBytes));
  return true;
}

function isSame(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a !== undefined && Buffer.compare(a, b) === 0;
}

function sameLogs(stored: BlockLogs, { logs, receipts }: Outcome): boolean {
  if (stored.length !== logs.length) return false;
  return logs.every((log, index) => {
    const found = stored.log(index);
    const transactionHash = receipts[log.transactionIndex]?.transactionHash;
    return (
      found.transactionIndex === log.transactionIndex &&
      isSame(found.address, log.address) &&
      isSame(found.data, log.data) &&
      found.topics.length === log.topics.length &&
      found.topics.every((topic, at) => isSame(topic, log.topics[at] ?? new Uint8Array())) &&
      transactionHash !== undefined &&
      isSame(stored.transactionHash(log.transactionIndex), transactionHash)
    );
  });
}

/** Each address and each topic at its position must lead to exactly the logs that have it. */
async function indexIsExact(store: Store, { logs, number }: Outcome): Promise<boolean> {
  const queries = new Map<string, { readonly query: LogQuery; readonly indexes: number[] }>();
  for (const [index, log] of logs.entries()) {
    for (const [position, value] of [log.address, ...log.topics].entries()) {
      const key = `${position} ${toHex(value)}`;
      const known = queries.get(key);
      if (known === undefined) queries.set(key, { query: queryFor(position, value), indexes: [index] });
      else known.indexes.push(index);
    }
  }
  for (const { query, indexes } of queries.values()) {
    const found: number[] = [];
    for await (const match of store.findLogs(query, number, number)) found.push(...match.indexes);
    if (found.join() !== indexes.join()) return false;
  }
  return true;
}

/** One position alone, so that no other leads the search: 0 is the address, 1 to 4 are topics. */
function queryFor(position: number, value: Uint8Array): LogQuery {
  if (position === 0) return { addresses: [value], topics: [] };
  return { addresses: [], topics: [...Array.from({ length: position - 1 }, () => []), [value]] };
}

/** The whole state at the head, and that a block which was not committed whole has left nothing. */
async function checkHead(
  store: Store,
  executor: NativeExecutor,
  head: BlockRef,
  state: ExpectedState,
): Promise<void> {
  const root = await executor.loadCommitment(state.compared(store.scanState(head.number)));
  const { stateRoot } = readHeader(await headerAt(store, head.number));
  if (root !== stateRoot) {
    throw new VerificationError(
      `the state at block ${head.number} hashes to ${root}, its header says ${stateRoot}`,
    );
  }
  const above = head.number + 1;
  const hash = await store.canonicalHash(above);
  const diff = await store.diffBytes(above);
  if (hash !== undefined || diff !== undefined) {
    throw new VerificationError(`there are rows of block ${above} above the head ${head.number}`);
  }
}

async function checkMarks(store: Store, marks: Marks): Promise<void> {
  for (const name of ['anchor', 'head', 'safe', 'finalized'] as const) {
    const { number, hash } = marks[name];
    if (number > marks.head.number || (await store.canonicalHash(number)) !== hash) {
      throw new VerificationError(`the ${name} mark names block ${number} ${hash}, which is not canonical`);
    }
  }
}
