import {
  Contract,
  ContractFactory,
  type ContractTransactionResponse,
  JsonRpcProvider,
  Wallet,
  WebSocketProvider,
} from 'ethers';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { until } from '../support/servers/process.ts';
import { compileSolidity } from '../support/workload/solidity.ts';

const source = `pragma solidity ^0.8.0;
contract Box {
  uint256 public value;
  event Put(address indexed by, uint256 value);
  constructor(uint256 first) { value = first; }
  function put(uint256 next) public { value = next; emit Put(msg.sender, next); }
}`;

const dev = inject('dev');

describe.each(['Http', 'WebSocket'] as const)('ethers over %s, as it comes', (kind) => {
  let provider: JsonRpcProvider | WebSocketProvider;

  beforeAll(() => {
    const webSocket = dev.url.replace('http', 'ws');
    provider = kind === 'Http' ? new JsonRpcProvider(dev.url) : new WebSocketProvider(webSocket);
  });
  afterAll(() => provider?.destroy());

  it('deploys a contract, waits, and hears of its events, each once', async () => {
    const { abi, code } = compileSolidity(source)['Box'] ?? { abi: [], code: '0x' };
    const wallet = new Wallet(inject('parties')[`ethers${kind}`].key, provider);
    const deployed = await new ContractFactory(abi as never, code, wallet).deploy(7);
    await deployed.waitForDeployment();
    const address = await deployed.getAddress();
    const receipt = await deployed.deploymentTransaction()?.wait();
    expect(receipt).toMatchObject({ status: 1, contractAddress: address });

    const box = new Contract(address, abi as never, wallet);
    const [read, put] = [box.getFunction('value'), box.getFunction('put')];
    // What it waited for is pre-confirmed, perhaps not confirmed.
    expect(await read({ blockTag: 'pending' })).toBe(7n);
    const confirmed = (blockNumber: number): Promise<true> =>
      until('its block', async () => ((await provider.getBlockNumber()) >= blockNumber ? true : undefined));
    // ethers estimates gas at `latest`: without the contract in it, that of `put` would be too little.
    await confirmed(receipt?.blockNumber ?? 0);
    const heard: bigint[] = [];
    await box.on('Put', (_by: string, value: bigint) => heard.push(value));
    for (const value of [8n, 9n]) {
      const sent = (await put(value)) as ContractTransactionResponse;
      const { status, blockNumber } = (await sent.wait()) ?? { status: 0, blockNumber: 0 };
      expect(status).toBe(1);
      expect(await read({ blockTag: 'pending' })).toBe(value);
      await until('the event', () => (heard.includes(value) ? true : undefined), 20_000);
      // An event that is told twice is told again when its block is confirmed.
      await confirmed(blockNumber);
    }
    expect(heard).toEqual([8n, 9n]);
    await box.removeAllListeners();
    const block = await provider.getBlock('latest', true);
    expect(block?.prefetchedTransactions.length).toBeGreaterThan(0);
    expect(await box.queryFilter('Put', 0)).toHaveLength(2);
  });
});
