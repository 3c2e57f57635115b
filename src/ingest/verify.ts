import type { BlockRef, Outcome } from '../chain/outcome.ts';
import { encodeReceipts } from '../chain/receipt-codec.ts';
import type { StateKey } from '../chain/state-key.ts';
import type { CommandOptions } from '../config/table.ts';
import { NativeExecutor, readHeader } from '../executor/native-executor.ts';
import { blockOptions } from '../executor/options.ts';
import type { BlockLogs, Store } from '../store/interface.ts';
import { openLmdbStore } from '../store/lmdb/index.ts';
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
  const store: Store = await openLmdbStore({
    path: options.data,
    undoWindow: options.undoWindow,
    mapSizeBytes: options.storeMapSize,
    readOnly: true,
  });
  try {
    const genesis = await store.getMeta(GENESIS_META);
    const marks = await store.marks();
    if (genesis === undefined || marks === undefined) throw new VerificationError('the store holds no chain');
    const executor = NativeExecutor.create(chainConfigOf(genesis), blockOptions(options), {
      load: storeLoader(store),
    });
    const { head } = marks;
    await checkOutcome(store, executor.startAtGenesis(genesis));
    let verified = 1;
    for (let number = marks.anchor.number + 1; number <= head.number && !modules.signal.aborted; number++) {
      const hash = await store.canonicalHash(number);
      const block = hash === undefined ? undefined : await store.block({ number, hash });
      if (block === undefined) throw new VerificationError(`block ${number} is missing`);
      await checkOutcome(store, await executor.execute(block));
      verified++;
      modules.onProgress(verified, head.number + 1);
    }
    await checkRoot(store, executor, head);
    await checkNothingAbove(store, head);
    return { verified, head };
  } finally {
    await store.close();
  }
}

async function checkOutcome(store: Store, outcome: Outcome): Promise<void> {
  const { number, hash } = outcome;
  const expect = (what: string, same: boolean): void => {
    if (!same)
      throw new VerificationError(
        `block ${number} ${hash}: the stored ${what} is not what executing it gives`,
      );
  };
  expect('hash', (await store.canonicalHash(number)) === hash);
  expect('number', (await store.numberOf(hash)) === number);
  expect('header', isSame(await store.header(outcome), outcome.header));
  const stored = await store.receipts(outcome);
  expect(
    'receipts',
    stored !== undefined && isSame(encodeReceipts(stored.receipts), encodeReceipts(outcome.receipts)),
  );
  const logs = await store.blockLogs(outcome);
  expect('logs', logs !== undefined && logs.timestamp === outcome.timestamp && sameLogs(logs, outcome));
  expect('log index', await indexFindsAll(store, outcome));
  expect('state', await stateIsAs(store, outcome));
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

/** Each log must be found by its address and all of its topics, in this block and at its place. */
async function indexFindsAll(store: Store, { logs, number }: Outcome): Promise<boolean> {
  for (const [index, log] of logs.entries()) {
    const query = { addresses: [log.address], topics: log.topics.map((topic) => [topic]) };
    const found: number[] = [];
    for await (const match of store.findLogs(query, number, number)) found.push(...match.indexes);
    if (!found.includes(index)) return false;
  }
  return true;
}

async function stateIsAs(store: Store, { diff, number }: Outcome): Promise<boolean> {
  const keys: StateKey[] = [];
  const values: Uint8Array[] = [];
  for (const [address, value] of diff.accounts) {
    keys.push({ kind: 'account', address });
    values.push(value);
  }
  for (const [address, slot, value] of diff.slots) {
    keys.push({ kind: 'slot', address, slot });
    values.push(value);
  }
  for (const [hash, code] of diff.codes) {
    keys.push({ kind: 'code', hash });
    values.push(code);
  }
  const stored = await store.loadState(keys, number);
  return values.every((value, index) => isSame(stored[index], value));
}

async function checkRoot(store: Store, executor: NativeExecutor, head: BlockRef): Promise<void> {
  const root = await executor.loadCommitment(store.scanState(head.number));
  const { stateRoot } = readHeader(await headerAt(store, head.number));
  if (root !== stateRoot) {
    throw new VerificationError(
      `the state at block ${head.number} hashes to ${root}, its header says ${stateRoot}`,
    );
  }
}

/** A block that was not committed whole must have left nothing. */
async function checkNothingAbove(store: Store, head: BlockRef): Promise<void> {
  const above = head.number + 1;
  const hash = await store.canonicalHash(above);
  const diff = await store.diffBytes(above);
  if (hash !== undefined || diff !== undefined) {
    throw new VerificationError(`there are rows of block ${above} above the head ${head.number}`);
  }
}
