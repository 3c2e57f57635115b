import { createHash } from 'node:crypto';
import type { Outcome } from '../../src/chain/outcome.ts';
import { encodeReceipts } from '../../src/chain/receipt-codec.ts';
import type { CallRequest, StateView } from '../../src/executor/interface.ts';
import { type Hex, toHex } from '../../src/primitives/hex.ts';
import type { LogQuery, Store } from '../../src/store/interface.ts';
import type { Table, Tables } from '../../src/store/lmdb/tables.ts';
import { describeLogs } from '../support/store/contract-observe.ts';

/** All that a store says about one canonical block: body, receipts, logs, diff, and the whole state at it. */
export async function describeBlock(store: Store, number: number): Promise<string> {
  const hash = await store.canonicalHash(number);
  if (hash === undefined) return JSON.stringify({ number, diff: await store.diffBytes(number) });
  const ref = { number, hash };
  const receipts = await store.receipts(ref);
  const logs = await store.blockLogs(ref);
  const state: string[] = [];
  for await (const entry of store.scanState(number)) {
    const slot = entry.kind === 'slot' ? toHex(entry.slot) : '';
    state.push(`${entry.kind} ${toHex(entry.address)} ${slot} ${toHex(entry.value)}`);
  }
  return JSON.stringify({
    ...ref,
    known: await store.numberOf(hash),
    header: hexOf(await store.header(ref)),
    block: hexOf(await store.block(ref)),
    receipts: receipts && toHex(encodeReceipts(receipts.receipts)),
    logs: logs && [logs.timestamp, describeLogs(logs)],
    sameLogs: receipts && describeLogs(receipts.logs),
    diff: hexOf(await store.diffBytes(number)),
    state,
  });
}

function hexOf(bytes: Uint8Array | undefined): Hex | undefined {
  return bytes && toHex(bytes);
}

/** Every log query of one value that could find something on this chain, and the one that finds all. */
export function queriesOf(outcomes: readonly Outcome[]): readonly LogQuery[] {
  const queries = new Map<string, LogQuery>([['', { addresses: [], topics: [] }]]);
  for (const log of outcomes.flatMap((outcome) => outcome.logs)) {
    queries.set(toHex(log.address), { addresses: [log.address], topics: [] });
    for (const [position, topic] of log.topics.entries()) {
      const topics = [...Array.from({ length: position }, () => []), [topic]];
      queries.set(`${position} ${toHex(topic)}`, { addresses: [], topics });
    }
  }
  return [...queries.values()];
}

/** Where a query finds logs in blocks 0 to `head`: block and index. */
export async function findAll(store: Store, query: LogQuery, head: number): Promise<(readonly number[])[]> {
  const found: (readonly number[])[] = [];
  for await (const { block, indexes } of store.findLogs(query, 0, head)) {
    for (const index of indexes) found.push([block.number, index]);
  }
  return found;
}

/** Addresses and slots that any block touched, and a few that none did. */
export interface Subjects {
  readonly addresses: readonly Hex[];
  readonly slots: readonly (readonly [Hex, Hex])[];
}

export function subjectsOf(outcomes: readonly Outcome[]): Subjects {
  const addresses = new Set<Hex>([`0x${'dead'.padStart(40, '0')}`]);
  const slots = new Map<string, readonly [Hex, Hex]>();
  for (const { diff } of outcomes) {
    for (const [address] of diff.accounts) addresses.add(toHex(address));
    for (const [address, slot] of diff.slots) {
      slots.set(toHex(address) + toHex(slot), [toHex(address), toHex(slot)]);
    }
  }
  for (const address of addresses) slots.set(address, [address, `0x${'0'.repeat(64)}`]);
  return { addresses: [...addresses], slots: [...slots.values()] };
}

/** Reads all subjects and calls every account, at one block. */
export async function describeView(view: StateView, { addresses, slots }: Subjects): Promise<string> {
  const answers: unknown[] = [view.ref, view.timestamp];
  for (const address of addresses) answers.push(await view.transactionCount(address));
  for (const [address, slot] of slots) answers.push(await view.storageAt(address, slot));
  for (const to of addresses) {
    const request: CallRequest = { to, gas: '0x989680', data: `0x${'01'.padStart(64, '0')}` };
    answers.push(await view.call(request));
  }
  return JSON.stringify(answers);
}

/** A digest of every table of an LMDB store: reverting must leave not one byte behind. */
export function describeRows({ root, ...tables }: Tables): Record<string, string> {
  root.resetReadTxn();
  return Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, digest(table)]));
}

/** How far postings were merged says nothing about what they hold. */
const MERGE_KEY = Buffer.from('\u0001merge');

function digest(table: Table): string {
  const hash = createHash('sha256');
  let rows = 0;
  for (const { key, value } of table.getRange({ start: new Uint8Array(1) })) {
    if (Buffer.compare(key, MERGE_KEY) === 0) continue;
    hash.update(`${toHex(key)} ${toHex(value)}\n`);
    rows++;
  }
  return `${rows} rows ${hash.digest('hex')}`;
}
