import { Agent, request as httpRequest } from 'node:http';
import { createPublicClient, createWalletClient, http, webSocket, zeroHash } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { expect, it } from 'vitest';
import { ACCOUNTS, COUNTER } from '../../src/dev/client/genesis.ts';
import { startChain } from '../support/servers/chains.ts';
import { follow, total, untilHead } from '../support/servers/our-node.ts';
import { opGethBinary } from '../support/servers/paths.ts';
import { tempDir, until } from '../support/servers/process.ts';
import { request } from '../support/servers/rpc-client.ts';
import { startProgram } from '../support/servers/serving.ts';
import { Workload } from '../support/workload/workload.ts';
import { abi, chain as devChain, listeners } from './dev-chain.ts';

const SEED = 20_261_117;
const DEPTH = 3;
const agent = new Agent({ keepAlive: false });

interface Log {
  readonly blockHash: string;
  readonly logIndex: string;
  readonly removed: boolean;
}

/** Asks over a connection of its own: any of the serving threads takes it. */
async function ask<T>(url: string, method: string, ...params: readonly unknown[]): Promise<T> {
  const text = await new Promise<string>((resolve, reject) => {
    const sent = httpRequest(
      url,
      { agent, method: 'POST', headers: { 'content-type': 'application/json' } },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () => resolve(Buffer.concat(parts).toString()));
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  });
  const { result, error } = JSON.parse(text) as { result?: T; error?: { message: string } };
  if (error !== undefined) throw new Error(error.message);
  return result as T;
}

/** How often each log was told, less how often it was taken back. */
class Tally {
  readonly held = new Map<string, number>();
  removed = 0;

  take(logs: readonly Log[]): void {
    for (const { blockHash, logIndex, removed } of logs) {
      const key = `${blockHash} ${logIndex}`;
      if (removed) this.removed++;
      this.held.set(key, (this.held.get(key) ?? 0) + (removed ? -1 : 1));
    }
  }

  /** Those that are held; throws where one was told twice, or taken back without having been told. */
  keys(): readonly string[] {
    for (const [key, count] of this.held) if (count !== 0 && count !== 1) throw new Error(`${key}: ${count}`);
    return [...this.held].filter(([, count]) => count === 1).map(([key]) => key);
  }
}

it('filters tell each change once, over reorgs, whichever thread is asked (B12)', {
  timeout: 180_000,
}, async () => {
  await using chain = await startChain('op-geth', { fast: true });
  await using data = await tempDir('filters');
  // So few logs an answer that changes and pages take several.
  const more = ['--profile', 'dedicated.logsResults=7'];
  await using ours = await follow({
    ...{ dataDir: data.path, upstreams: [chain.ws], rules: chain.rulesFile, more },
  });
  const { url } = ours;
  const logs = await ask<string>(url, 'eth_newFilter', {});
  const pending = await ask<string>(url, 'eth_newFilter', { toBlock: 'pending' });
  const blocks = await ask<string>(url, 'eth_newBlockFilter');
  const transactions = await ask<string>(url, 'eth_newPendingTransactionFilter');
  const tallies = { logs: new Tally(), pending: new Tally() };
  const heads: string[] = [];
  const hashes = new Set<string>();
  const poll = async (): Promise<number> => {
    const [some, early, added, sent] = await Promise.all([
      ask<Log[]>(url, 'eth_getFilterChanges', logs),
      ask<Log[]>(url, 'eth_getFilterChanges', pending),
      ask<string[]>(url, 'eth_getFilterChanges', blocks),
      ask<string[]>(url, 'eth_getFilterChanges', transactions),
    ]);
    tallies.logs.take(some);
    tallies.pending.take(early);
    heads.push(...added);
    for (const hash of sent) hashes.add(hash);
    return some.length + early.length + added.length + sent.length;
  };
  const goesOn = { value: true };
  const poller = async (): Promise<void> => {
    while (goesOn.value) await poll();
  };
  // Over new connections each, so that both threads are asked; and several at once, of which any may meet a reorg.
  const polling = Promise.all([poller(), poller(), poller()]);

  const workload = new Workload(SEED, chain.traits, chain.readNonces);
  for await (const block of workload.setup()) await chain.mine(block);
  for (let left = 8; left > 0; left -= 1) await chain.mine(await workload.next());
  // What is reorged out has been told of.
  const { hash: before } = await request<{ hash: string }>(chain.url, 'eth_getBlockByNumber', [
    'latest',
    false,
  ]);
  await until('the block before the reorg', () => (heads.includes(before) ? true : undefined));
  await chain.reorg?.(DEPTH, () => workload.next());
  const last = await request<{ hash: string; number: string }>(chain.url, 'eth_getBlockByNumber', [
    'latest',
    false,
  ]);
  await untilHead(ours, last.hash);
  await until('the last block', () => (heads.includes(last.hash) ? true : undefined));
  goesOn.value = false;
  await polling;
  while ((await poll()) > 0);

  const all = await request<Log[]>(chain.url, 'eth_getLogs', [{ fromBlock: '0x1', toBlock: 'latest' }]);
  const expected = all.map(({ blockHash, logIndex }) => `${blockHash} ${logIndex}`).sort();
  expect(expected.length).toBeGreaterThan(0);
  for (const tally of Object.values(tallies)) {
    expect([...tally.keys()].sort()).toEqual(expected);
    expect(tally.removed).toBeGreaterThan(0);
  }
  expect(new Set(heads).size).toBe(heads.length);
  for (let number = 1; number <= Number(last.number); number++) {
    const block = await request<{ hash: string; transactions: string[] }>(chain.url, 'eth_getBlockByNumber', [
      `0x${number.toString(16)}`,
      false,
    ]);
    expect(heads).toContain(block.hash);
    for (const hash of block.transactions) expect(hashes).toContain(hash);
  }
  const pages: Log[] = [];
  let cursor: string | undefined;
  do {
    const page: { logs: Log[]; cursor?: string } = await ask(url, 'eth_getLogsWithCursor', {
      ...{ fromBlock: 'earliest', toBlock: 'pending', ...(cursor !== undefined && { cursor }) },
    });
    expect(page.logs.length).toBeLessThanOrEqual(7);
    pages.push(...page.logs);
    ({ cursor } = page);
  } while (cursor !== undefined);
  expect(pages.map(({ blockHash, logIndex }) => `${blockHash} ${logIndex}`).sort()).toEqual(expected);
  expect(await ask<Log[]>(url, 'eth_getFilterLogs', logs)).toEqual(
    await request(ours.url, 'eth_getLogs', [{}]),
  );
  await expect(ask(url, 'eth_getFilterLogs', blocks)).rejects.toThrow('filter not found');
  expect(await total(ours, 'chain_query_filters')).toBe(4);
  expect(await ask(url, 'eth_uninstallFilter', logs)).toBe(true);
  expect(await ask(url, 'eth_uninstallFilter', logs)).toBe(false);
  await expect(ask(url, 'eth_getFilterChanges', logs)).rejects.toThrow('filter not found');
  expect(await total(ours, 'chain_query_filters')).toBe(3);
});

it('viem watches over HTTP with filters, unchanged (B12)', { timeout: 120_000 }, async () => {
  await using folder = await tempDir('filters-dev');
  const running = startProgram(['dev', ...listeners, '--op-geth', opGethBinary()], {
    env: { TMPDIR: folder.path },
  });
  try {
    await until('its guide', () => (running.output().includes('Ctrl-C') ? true : undefined));
    const place = (pattern: RegExp): string => pattern.exec(running.output())?.[1] ?? '';
    const [reading, sending] = [place(/read +(http:\S+)/), place(/send to +(http:\S+)/)];
    const reader = createPublicClient({ chain: devChain, transport: http(reading), pollingInterval: 100 });
    const counter = { address: COUNTER.address, abi } as const;
    const seen = { counts: [] as (bigint | undefined)[], blocks: [] as bigint[], hashes: [] as string[] };
    const errors: Error[] = [];
    const onError = (error: Error): void => void errors.push(error);
    const stops = [
      reader.watchContractEvent({
        ...{ ...counter, eventName: 'Incremented', onError },
        onLogs: (logs) => seen.counts.push(...logs.map(({ args }) => args.count)),
      }),
      reader.watchBlocks({
        onBlock: ({ number }) => void seen.blocks.push(number),
        emitMissed: true,
        onError,
      }),
      reader.watchPendingTransactions({ onTransactions: (hashes) => seen.hashes.push(...hashes), onError }),
    ];
    // Filters are made by the first poll.
    const filters = async (): Promise<number> => {
      const metrics = await (await fetch(`${place(/(http:\S+) +\/readyz/)}/metrics`)).text();
      return [...metrics.matchAll(/^chain_query_filters\{.*\} (\d+)$/gm)].reduce(
        (sum, [, n]) => sum + Number(n),
        0,
      );
    };
    await until('both filters', async () => ((await filters()) === 2 ? true : undefined));
    // The same pre-confirmed: a filter up to pending, and subscriptions.
    const early = await ask<string>(reading, 'eth_newFilter', {
      address: COUNTER.address,
      toBlock: 'pending',
    });
    const socket = createPublicClient({
      chain: devChain,
      transport: webSocket(reading.replace('http', 'ws')),
    });
    const told = { hashes: [] as string[], receipts: [] as { readonly transactionHash: string }[] };
    const stopHashes = socket.watchPendingTransactions({
      ...{ onTransactions: (hashes) => told.hashes.push(...hashes), onError, batch: false },
    });
    await socket.transport.subscribe({
      params: ['transactionReceipts'] as never,
      onData: (message) =>
        void told.receipts.push(...((message as { readonly result?: unknown }).result as [])),
    });
    const account = privateKeyToAccount(ACCOUNTS[1].key);
    const wallet = createWalletClient({ account, chain: devChain, transport: http(sending) });
    const sent: string[] = [];
    for (let count = 1; count <= 5; count++) {
      sent.push(await wallet.writeContract({ ...counter, functionName: 'increment' }));
      await until(`event ${count}`, () => (seen.counts.length >= count ? true : undefined));
    }
    await until('two blocks', () => (seen.blocks.length > 2 ? true : undefined));
    for (const stop of [...stops, stopHashes]) stop();
    const logs = await ask<Log[]>(reading, 'eth_getFilterChanges', early);
    expect(logs.map(({ blockHash, removed }) => [blockHash, removed])).toEqual(
      sent.map(() => [zeroHash, false]),
    );
    for (const hash of sent) {
      expect(told.hashes.filter((each) => each === hash)).toHaveLength(1);
      expect(told.receipts.filter(({ transactionHash }) => transactionHash === hash)).toMatchObject([
        { blockHash: zeroHash, status: '0x1', logs: [{ blockHash: zeroHash }] },
      ]);
    }
    expect(seen.counts).toEqual([1n, 2n, 3n, 4n, 5n]);
    for (const hash of sent) expect(seen.hashes.filter((each) => each === hash)).toHaveLength(1);
    expect(seen.blocks.slice(1).map((number, at) => number - (seen.blocks[at] ?? 0n))).toEqual(
      seen.blocks.slice(1).map(() => 1n),
    );
    expect(errors).toEqual([]);
  } finally {
    await running.stop();
  }
});
