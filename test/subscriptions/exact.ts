import { isDeepStrictEqual } from 'node:util';
import { type Hex, zeroHash } from 'viem';
import type { Act } from '../preconfirmed/scenarios/scene.ts';
import type { Checks } from '../support/checks.ts';
import type { BuiltFlashblock } from '../support/flashblocks/builder.ts';
import { until } from '../support/servers/process.ts';
import { request } from '../support/servers/rpc-client.ts';
import { Connection } from './connection.ts';
import type { SentLog } from './held-logs.ts';
import type { Show } from './show.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Block extends Fields {
  readonly hash: Hex;
  readonly transactions: readonly Fields[];
}

/** A flashblock with what op-geth says of the block so far. */
interface Known {
  readonly block: Block;
  readonly logs: readonly SentLog[];
  /** Of this flashblock only. */
  readonly fresh: readonly Fields[];
}

const settleMs = 20_000;
const blockCount = 5;
const deposit = '0x7e';

/** As Base's node gives a transaction that is not sealed: deposits have the parity of a signature too. */
const unsealed = (fields: Fields): Fields => ({
  ...fields,
  blockHash: zeroHash,
  ...(fields['type'] === deposit ? { yParity: '0x0' } : {}),
});

/** op-geth names fields of later forks, without a value. */
const valued = (fields: unknown): Fields =>
  Object.fromEntries(Object.entries(fields as Fields).filter(([, value]) => value !== null));

/** A block that is not sealed has a hash of zero, and its transactions the same (B6, B11). */
function unsealedBlock(block: Block): Fields {
  return { ...block, hash: zeroHash, transactions: block.transactions.map(unsealed) };
}

/** Shapes and order of everything but logs, on a few blocks that nothing befalls: all as op-geth has it. */
export async function exactness(show: Show, checks: Checks): Promise<void> {
  const { node, rig } = show;
  const heads: unknown[] = [];
  const theirHeads: unknown[] = [];
  const flashblocks: unknown[] = [];
  const hashes: unknown[] = [];
  const transactions: unknown[] = [];
  const late: string[] = [];
  const connections = await Promise.all([node.url, node.publicUrl, rig.node.ws].map(Connection.open));
  const [one, other, theirs] = connections as [Connection, Connection, Connection];
  await one.subscribe(['newHeads'], (header) => heads.push(header));
  await theirs.subscribe(['newHeads'], (header) => theirHeads.push(header));
  const reads: Promise<void>[] = [];
  await other.subscribe(['newFlashblocks'], (block) => {
    flashblocks.push(block);
    reads.push(readAt(node.url, block as Block, late));
  });
  await one.subscribe(['newFlashblockTransactions'], (hash) => hashes.push(hash));
  await other.subscribe(['newFlashblockTransactions', true], (transaction) => transactions.push(transaction));
  const before = rig.sequencer.head.number;
  const acts: Act[] = [];
  for (let at = 0; at < blockCount; at += 1) acts.push(await show.plain(100 + at));
  const shown = acts.flatMap(({ attempts }) => attempts.at(-1) ?? []);
  const known = await knownOf(rig.oracle.url, shown);
  const fresh = known.flatMap((flashblock) => flashblock.fresh);
  const confirmed = rig.sequencer.head.number - before;
  const isThere = (): true | undefined =>
    heads.length === confirmed &&
    theirHeads.length === confirmed &&
    flashblocks.length === known.length &&
    hashes.length === fresh.length &&
    transactions.length === fresh.length
      ? true
      : undefined;
  const lengths = (): string =>
    `${heads.length} heads of ${confirmed} (op-geth ${theirHeads.length}), ${flashblocks.length} flashblocks of ` +
    `${known.length}, ${hashes.length} hashes and ${transactions.length} transactions of ${fresh.length}`;
  const whole = await until('all messages', isThere, settleMs).catch(() => false);
  checks.check('every message comes, once', whole, lengths());
  await Promise.all(reads);
  for (const connection of connections) connection.destroy();
  compare(checks, "newHeads is op-geth's", heads, theirHeads.map(valued));
  const expected = known.map(({ block }) => unsealedBlock(block));
  compare(checks, 'newFlashblocks is the block so far', flashblocks, expected);
  compare(
    checks,
    'hashes are those of the flashblocks',
    hashes,
    fresh.map(({ hash }) => hash),
  );
  const withLogs = known.flatMap(({ fresh: own, logs }) =>
    own.map((transaction) => ({
      ...unsealed(transaction),
      logs: logs
        .filter((log) => (log as unknown as Fields)['transactionHash'] === transaction['hash'])
        .map(unsealedLog),
    })),
  );
  compare(checks, 'whole transactions, with their logs', transactions, withLogs);
  checks.check('a read on receiving a flashblock has it', late.length === 0, late);
  checks.check('there was something to compare', fresh.length > 20 && known.length > 10, lengths());
  console.log(`  exact: ${lengths()}`);
}

const unsealedLog = (log: SentLog): SentLog => ({ ...log, blockHash: zeroHash });

/** Without faults nothing is taken back: a read must have at least as many receipts as the message had transactions. */
async function readAt(url: string, block: Block, late: string[]): Promise<void> {
  const number = Number(block['number']);
  const body = { jsonrpc: '2.0', id: 1, method: 'eth_getBlockReceipts', params: ['pending'] };
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  });
  const { result } = (await response.json()) as { readonly result: readonly unknown[] | null };
  const head = Number(response.headers.get('x-chain-head')?.split(';')[0]);
  const [pending = 'none'] = response.headers.get('x-chain-pending')?.split(';') ?? [];
  const isLater = head >= number || Number(pending) > number;
  const hasAll = Number(pending) === number && (result?.length ?? 0) >= block.transactions.length;
  if (!isLater && !hasAll)
    late.push(`block ${number} with ${block.transactions.length}: ${pending}, ${result?.length} receipts`);
}

async function knownOf(url: string, shown: readonly BuiltFlashblock[]): Promise<readonly Known[]> {
  const known: Known[] = [];
  for (const { message, payload } of shown) {
    const { blockHash } = payload;
    const block = await request<Block>(url, 'eth_getBlockByHash', [blockHash, true]);
    const logs = await request<readonly SentLog[]>(url, 'eth_getLogs', [{ blockHash }]);
    const first = block.transactions.length - message.diff.transactions.length;
    known.push({ block, logs, fresh: block.transactions.slice(first) });
  }
  return known;
}

function compare(checks: Checks, what: string, ours: readonly unknown[], theirs: readonly unknown[]): void {
  const wrong = theirs.findIndex((value, at) => !isDeepStrictEqual(ours[at], value));
  checks.check(
    what,
    wrong < 0 && ours.length === theirs.length,
    `number ${wrong}: ${fieldsApart(ours[wrong], theirs[wrong])}`,
  );
}

function fieldsApart(ours: unknown, theirs: unknown): string {
  const [one, other] = [(ours ?? {}) as Fields, (theirs ?? {}) as Fields];
  if (Array.isArray(ours) && Array.isArray(theirs)) {
    const at = theirs.findIndex((value, index) => !isDeepStrictEqual(ours[index], value));
    return `${ours.length} for ${theirs.length}, at ${at} { ${fieldsApart(ours[at], theirs[at])} }`;
  }
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return keys
    .filter((key) => !isDeepStrictEqual(one[key], other[key]))
    .map((key) =>
      Array.isArray(other[key])
        ? `${key}: ${fieldsApart(one[key], other[key])}`
        : `${key}: ours ${short(one[key])}, op-geth ${short(other[key])}`,
    )
    .join('; ');
}

const short = (value: unknown): string => JSON.stringify(value)?.slice(0, 300) ?? 'absent';
