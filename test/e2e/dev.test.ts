import { readdir, readFile } from 'node:fs/promises';
import { createPublicClient, createWalletClient, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { ACCOUNTS, COUNTER } from '../../src/dev/client/genesis.ts';
import { anvilBinary, opGethBinary } from '../support/servers/paths.ts';
import { type Running, runToEnd, tempDir, until } from '../support/servers/process.ts';
import { runProgram, startProgram, startServing } from '../support/servers/serving.ts';
import { abi, chain, listeners } from './dev-chain.ts';

const clients = { anvil: () => ['--anvil', anvilBinary()], 'op-geth': () => ['--op-geth', opGethBinary()] };

interface Dev extends AsyncDisposable {
  readonly running: Running;
  /** The lines to paste, in order. */
  readonly lines: readonly string[];
  readonly reading: string;
  readonly sending: string;
  readonly admin: string;
  /** Those of a node on this chain. */
  readonly options: readonly string[];
  /** Programs that it started. */
  readonly children: readonly number[];
  /** What is left in the folder for temporary files that it was given. */
  leftovers(): Promise<readonly string[]>;
}

async function startDev(client: keyof typeof clients): Promise<Dev> {
  const folder = await tempDir('dev-test');
  const running = startProgram(['dev', ...listeners, ...clients[client]()], { env: { TMPDIR: folder.path } });
  const stop = async (): Promise<void> => {
    await running.stop();
    await folder[Symbol.asyncDispose]();
  };
  try {
    const died = running.exited.then((code) => {
      throw new Error(`dev ended with ${code}: ${running.output()}`);
    });
    const ready = until('its guide', () => (running.output().includes('Ctrl-C') ? true : undefined));
    await Promise.race([ready, died]);
    died.catch(() => {});
    const guide = running.output();
    const place = (pattern: RegExp): string => pattern.exec(guide)?.[1] ?? '';
    const { pid } = running;
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return {
      running,
      lines: guide.match(/^(?:sleep 0\.3; )?curl .*$/gm) ?? [],
      reading: place(/read +(http:\S+)/),
      sending: place(/send to +(http:\S+)/),
      admin: place(/(http:\S+) +\/readyz/),
      options: [
        ...['--chain', place(/rules +(\S+)/), '--upstream', place(/send to +(http:\S+)/)],
        ...['--flashblocks', place(/flashblocks +(ws:\S+)/)],
      ],
      children: children.trim().split(' ').map(Number),
      leftovers: () => readdir(folder.path),
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const paste = (line: string | undefined): Promise<string> => runToEnd('sh', ['-c', line ?? 'false']);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Waits for the beginning of a block, so that what follows is within it. */
async function blockBegins(url: string): Promise<void> {
  await until('a new block', async () => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] });
    const response = await fetch(url, { method: 'POST', headers, body });
    return /^\d+;[01]$/.test(response.headers.get('x-chain-pending') ?? '') ? true : undefined;
  });
}

describe.each(['anvil', 'op-geth'] as const)('dev on %s', (client) => {
  it('shows a pre-confirmed answer with the lines it prints', async () => {
    await using dev = await startDev(client);
    expect(dev.lines).toHaveLength(3);
    await blockBegins(dev.reading);
    const word = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`;
    expect(JSON.parse(await paste(dev.lines[0]))).toMatchObject({ result: word(0) });
    expect(JSON.parse(await paste(dev.lines[1]))).toMatchObject({ result: expect.stringMatching(/^0x/) });
    const [head = '', body = ''] = (await paste(dev.lines[2])).split('\r\n\r\n');
    expect(JSON.parse(body)).toMatchObject([
      { id: 3, result: word(1) },
      { id: 4, result: word(0) },
    ]);
    const confirmed = /^x-chain-head: (\d+);/m.exec(head)?.[1];
    expect(head).toMatch(new RegExp(`^x-chain-pending: ${Number(confirmed) + 1};\\d+\r?$`, 'm'));
  });

  it('takes transactions of a wallet, and confirms what it pre-confirmed', async () => {
    await using dev = await startDev(client);
    const account = privateKeyToAccount(ACCOUNTS[1].key);
    const wallet = createWalletClient({ account, chain, transport: http(dev.sending) });
    const upstream = createPublicClient({ chain, transport: http(dev.sending) });
    const reader = createPublicClient({ chain, transport: http(dev.reading) });
    const counter = { address: COUNTER.address, abi } as const;
    const count = (blockTag: 'pending' | 'latest'): Promise<bigint> =>
      reader.readContract({ ...counter, functionName: 'count', blockTag });
    // Several in one block, and over blocks: each is in the state of the next.
    for (let sent = 1n; sent <= 12n; sent++) {
      await wallet.writeContract({ ...counter, functionName: 'increment' });
      await until(`${sent} in pending`, async () => ((await count('pending')) === sent ? true : undefined));
      if (sent % 6n > 0n) continue;
      await until(`${sent} in latest`, async () => ((await count('latest')) === sent ? true : undefined));
    }
    const logs = await reader.getContractEvents({ ...counter, eventName: 'Incremented', fromBlock: 0n });
    expect(logs.map(({ args }) => args.count)).toEqual(Array.from({ length: 12 }, (_, at) => BigInt(at + 1)));
    for (const { blockNumber, blockHash } of logs) {
      expect((await upstream.getBlock({ blockNumber })).hash).toBe(blockHash);
    }
    const metrics = await (await fetch(`${dev.admin}/metrics`)).text();
    expect(metrics).toMatch(/^chain_query_flashblocks_refused_total 0$/m);
    expect(metrics).toMatch(/^chain_query_preconfirmation_accuracy\{source=".*"\} 1$/m);
  });

  // The second is a terminal that was closed.
  it.each(['SIGINT', 'SIGHUP'] as const)('leaves nothing behind when it is stopped by %s', async (signal) => {
    await using dev = await startDev(client);
    expect(dev.children.filter(isAlive)).toHaveLength(1);
    expect(await dev.leftovers()).toHaveLength(1);
    dev.running.signal(signal);
    expect(await dev.running.exited).toBe(0);
    expect(dev.children.filter(isAlive)).toEqual([]);
    expect(await dev.leftovers()).toEqual([]);
  });

  it('ends and says so when the chain ends', async () => {
    await using dev = await startDev(client);
    for (const pid of dev.children) process.kill(pid, 'SIGKILL');
    expect(await dev.running.exited).toBe(1);
    expect(dev.running.output()).toMatch(/^chain-query: \S+ ended by itself \(SIGKILL\)/m);
    expect(await dev.leftovers()).toEqual([]);
  });
});

it('names what a second node needs', async () => {
  await using dev = await startDev('anvil');
  await using data = await tempDir('second-node');
  await using second = await startServing(data.path, { args: dev.options });
  const reader = createPublicClient({ chain, transport: http(second.publicUrl) });
  const upstream = createPublicClient({ chain, transport: http(dev.sending) });
  const { number, hash } = await reader.getBlock();
  expect((await upstream.getBlock({ blockNumber: number })).hash).toBe(hash);
  const { code, output } = await runProgram(['doctor', ...dev.options]);
  expect(code, output).toBe(0);
});

it('says what is wrong with the client that is named', async () => {
  const missing = await runProgram(['dev', '--op-geth', '/no/such/file']);
  expect(missing).toMatchObject({ code: 2, output: expect.stringContaining('/no/such/file does not exist') });
  const both = await runProgram(['dev', '--op-geth', 'one', '--anvil', 'other']);
  expect(both).toMatchObject({ code: 2, output: expect.stringContaining('name one') });
});
