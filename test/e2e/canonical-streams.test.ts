import { createPublicClient, webSocket } from 'viem';
import { expect, it } from 'vitest';
import { startChain } from '../support/servers/chains.ts';
import { follow, untilHead } from '../support/servers/our-node.ts';
import { tempDir, until } from '../support/servers/process.ts';
import { request } from '../support/servers/rpc-client.ts';
import { Workload } from '../support/workload/workload.ts';

const SEED = 20_261_116;
const DEPTH = 3;

interface Block {
  readonly number: string;
  readonly hash: string;
  readonly timestamp: string;
  readonly timestampMs?: string;
  readonly withdrawals: readonly unknown[];
  readonly transactions: readonly { readonly hash: string; readonly blockHash: string }[];
}

interface Receipt {
  readonly transactionHash: string;
  readonly blockHash: string;
  readonly removed?: boolean;
}

interface Log {
  readonly blockNumber: string;
  readonly blockHash: string;
  readonly logIndex: string;
  readonly blockTimestamp: string;
  readonly blockTimestampMs?: string;
  readonly removed: boolean;
}

const nameOf = ({ blockHash, logIndex }: Log): string => `${blockHash} ${logIndex}`;

it('without a stream, each canonical block comes as one flashblock, and a reorg takes logs back (B11, B18)', {
  timeout: 120_000,
}, async () => {
  await using chain = await startChain('op-geth', { fast: true });
  await using data = await tempDir('canonical-streams');
  await using ours = await follow({ dataDir: data.path, upstreams: [chain.ws], rules: chain.rulesFile });
  const client = createPublicClient({ transport: webSocket(ours.url.replace('http', 'ws')) });
  const listen = async <T>(...params: unknown[]): Promise<T[]> => {
    const got: T[] = [];
    await client.transport.subscribe({
      params: params as never,
      onData: (message) => void got.push((message as { readonly result?: unknown }).result as T),
    });
    return got;
  };
  const blocks = await listen<Block>('newFlashblocks');
  const heads = await listen<Block>('newHeads');
  const logs = await listen<Log>('pendingLogs');
  const resumed = await listen<Log>('pendingLogs', { fromBlock: 'earliest' });
  const transactions = await listen<{ readonly hash: string; readonly logs: readonly Log[] }>(
    ...['newFlashblockTransactions', true],
  );
  const pendingHashes = await listen<string>('newPendingTransactions');
  const receipts = await listen<Receipt[]>('transactionReceipts');
  const head = (): Promise<Block> => request(chain.url, 'eth_getBlockByNumber', ['latest', true]);

  const workload = new Workload(SEED, chain.traits, chain.readNonces);
  for await (const block of workload.setup()) await chain.mine(block);
  for (let left = 10; left > 0; left -= 1) await chain.mine(await workload.next());
  // What is reorged out has been told of.
  await untilHead(ours, (await head()).hash);
  await chain.reorg?.(DEPTH, () => workload.next());
  const last = await head();
  await untilHead(ours, last.hash);
  await until('the last block', () => (blocks.at(-1)?.hash === last.hash ? true : undefined));

  const { hash, timestamp, withdrawals } = last;
  const timestampMs = `0x${(1_000 * Number(timestamp) + 200 * (Number(last.number) % 5)).toString(16)}`;
  expect(blocks.at(-1)).toMatchObject({ hash, timestamp, timestampMs, withdrawals });
  expect(heads.at(-1)).toMatchObject({ hash, timestampMs });
  expect(blocks.map((block) => block.hash)).toEqual(heads.map((each) => each.hash));
  expect(blocks.at(-1)?.transactions.map((each) => [each.hash, each.blockHash])).toEqual(
    last.transactions.map((each) => [each.hash, hash]),
  );
  expect(transactions.slice(-last.transactions.length).map((each) => each.hash)).toEqual(
    last.transactions.map((each) => each.hash),
  );
  const heldReceipts = new Map<string, Receipt>();
  for (const { removed, ...receipt } of receipts.flat()) {
    const name = `${receipt.blockHash} ${receipt.transactionHash}`;
    expect(heldReceipts.has(name)).toBe(removed === true);
    if (removed === true) heldReceipts.delete(name);
    else heldReceipts.set(name, receipt);
  }
  const chainReceipts: Receipt[] = [];
  for (let number = 1; number <= Number(last.number); number++) {
    const block = `0x${number.toString(16)}`;
    chainReceipts.push(...(await request<Receipt[]>(ours.url, 'eth_getBlockReceipts', [block])));
  }
  expect([...heldReceipts.values()]).toEqual(chainReceipts);
  expect(receipts.flat().some(({ removed }) => removed)).toBe(true);
  for (const { transactionHash } of chainReceipts) expect(pendingHashes).toContain(transactionHash);
  const all = await request<readonly Log[]>(ours.url, 'eth_getLogs', [
    { fromBlock: '0x1', toBlock: 'latest' },
  ]);
  for (const got of [logs, resumed]) {
    const held = new Map<string, Log>();
    for (const log of got) {
      if (log.removed) expect(held.delete(nameOf(log))).toBe(true);
      else held.set(nameOf(log), log);
    }
    expect([...held.values()]).toEqual(all);
  }
  expect(all.length).toBeGreaterThan(0);
  expect(logs.some(({ removed }) => removed)).toBe(true);
  for (const { blockTimestampMs, blockTimestamp, blockNumber } of all) {
    expect(Number(blockTimestampMs)).toBe(1_000 * Number(blockTimestamp) + 200 * (Number(blockNumber) % 5));
  }
});
