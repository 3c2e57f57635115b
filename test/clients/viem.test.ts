import { createPublicClient, encodeFunctionData, type Hex, http, webSocket, zeroHash } from 'viem';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { until } from '../support/servers/process.ts';
import { compileSolidity } from '../support/workload/solidity.ts';
import { chain, partyOf } from './wallets.ts';

/** The part of Multicall3 that viem uses. */
const multicallSource = `pragma solidity ^0.8.0;
contract Multicall {
  struct Call3 { address target; bool allowFailure; bytes callData; }
  struct Result { bool success; bytes returnData; }
  function aggregate3(Call3[] calldata calls) public payable returns (Result[] memory results) {
    results = new Result[](calls.length);
    for (uint i = 0; i < calls.length; i++) {
      (results[i].success, results[i].returnData) = calls[i].target.call(calls[i].callData);
      require(results[i].success || calls[i].allowFailure, "Multicall3: call failed");
    }
  }
}`;

const dev = inject('dev');
const { account, counter, reader, wallet } = partyOf('viem');

async function deploy(source: string, name: string): Promise<Hex> {
  const bytecode = compileSolidity(source)[name]?.code ?? '0x';
  const hash = await wallet.deployContract({ abi: [], bytecode });
  const { contractAddress } = await reader.waitForTransactionReceipt({ hash });
  if (contractAddress === null || contractAddress === undefined) throw new Error('nothing was deployed');
  return contractAddress;
}

const increment = (): Promise<Hex> => wallet.writeContract({ ...counter, functionName: 'increment' });

describe('viem, as it comes', () => {
  it('reads the pre-confirmed block by default, as it does of Base', async () => {
    // Right after a block is sealed there is no pre-confirmed one for a moment, and `pending` is `latest`.
    await until('a pre-confirmed block', async () => {
      const latest = await reader.getBlock({ blockTag: 'latest' });
      const block = await reader.getBlock();
      return block.hash === zeroHash && block.number > latest.number ? true : undefined;
    });
    expect(await reader.getBalance({ address: account.address })).toBeGreaterThan(0n);
    const whole = await reader.getBlock({ includeTransactions: true });
    for (const { blockHash, blockNumber } of whole.transactions)
      expect([blockHash, blockNumber]).toEqual([whole.hash, whole.number]);
  });

  it('simulates and then sends what it simulated', async () => {
    const { request } = await reader.simulateContract({ ...counter, functionName: 'increment', account });
    const hash = await wallet.writeContract(request);
    expect((await reader.waitForTransactionReceipt({ hash })).logs).toHaveLength(1);
  });

  it('reads many at once through a contract', async () => {
    const multicallAddress = await deploy(multicallSource, 'Multicall');
    const read = { ...counter, functionName: 'count' } as const;
    const broken = { ...read, address: multicallAddress };
    const results = await reader.multicall({ contracts: [read, broken, read], multicallAddress });
    expect(results.map(({ status }) => status)).toEqual(['success', 'failure', 'success']);
    expect(results[0]).toEqual(results[2]);
  });

  it('finds transactions, receipts and logs, before and after they are confirmed', async () => {
    const hash = await increment();
    const receipt = await reader.waitForTransactionReceipt({ hash });
    const { input, from, to } = await reader.getTransaction({ hash });
    const data = encodeFunctionData({ abi: counter.abi, functionName: 'increment' });
    expect([input, from, to]).toEqual([data, account.address.toLowerCase(), counter.address.toLowerCase()]);
    await until('the block', async () =>
      (await reader.getBlockNumber({ cacheTime: 0 })) >= receipt.blockNumber ? true : undefined,
    );
    const sealed = await reader.getTransactionReceipt({ hash });
    const block = await reader.getBlock({ blockNumber: receipt.blockNumber });
    expect(sealed).toEqual({ ...receipt, blockHash: block.hash, logs: sealed.logs });
    expect(block.transactions).toContain(hash);
  });
});

describe.each(['HTTP', 'WebSocket'] as const)('viem over %s', (kind) => {
  let client: ReturnType<typeof createPublicClient>;

  beforeAll(() => {
    const socket = webSocket(dev.url.replace('http', 'ws'), { reconnect: false });
    client = createPublicClient({ chain, transport: kind === 'HTTP' ? http(dev.url) : socket });
  });

  it('watches blocks', async () => {
    const numbers: bigint[] = [];
    const errors: unknown[] = [];
    const unwatch = client.watchBlocks({
      blockTag: 'latest',
      onBlock: ({ number }) => numbers.push(number ?? -1n),
      onError: (error) => errors.push(error),
    });
    await until('three blocks', () => (numbers.length >= 3 ? true : undefined), 20_000);
    unwatch();
    expect(numbers.map((number) => number - (numbers[0] ?? 0n)).slice(0, 3)).toEqual([0n, 1n, 2n]);
    expect(errors).toEqual([]);
  });

  it('watches events of a contract, each told once', async () => {
    const counts: bigint[] = [];
    const errors: unknown[] = [];
    const unwatch = client.watchContractEvent({
      ...{ ...counter, eventName: 'Incremented', strict: true },
      onLogs: (logs) => counts.push(...logs.map(({ args }) => args.count)),
      onError: (error) => errors.push(error),
    });
    const next = async (): Promise<void> =>
      void (await reader.waitForTransactionReceipt({ hash: await increment() }));
    // viem does not say when it has begun to watch: from the first that it tells of, it may miss none.
    await until('a first log', async () => {
      await next();
      return counts.length > 0 ? true : undefined;
    });
    for (let sent = 0; sent < 3; sent += 1) await next();
    const last = await reader.readContract({ ...counter, functionName: 'count' });
    await until('the last log', () => (counts.includes(last) ? true : undefined), 20_000);
    // A log that is told again is when its block is confirmed.
    await until('all to be confirmed', async () =>
      (await reader.readContract({ ...counter, functionName: 'count', blockTag: 'latest' })) === last
        ? true
        : undefined,
    );
    await next();
    await until('one more', () => (counts.includes(last + 1n) ? true : undefined), 20_000);
    unwatch();
    const first = counts[0] ?? 0n;
    expect(counts).toEqual(counts.map((_, at) => first + BigInt(at)));
    expect(counts.at(-1)).toBe(last + 1n);
    expect(errors).toEqual([]);
  });
});
