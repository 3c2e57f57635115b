import { Contract, ContractFactory, JsonRpcProvider, Wallet, WebSocketProvider } from 'ethers';
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
  let reader: JsonRpcProvider | WebSocketProvider;
  let sender: JsonRpcProvider;

  beforeAll(() => {
    reader =
      kind === 'Http' ? new JsonRpcProvider(dev.url) : new WebSocketProvider(dev.url.replace('http', 'ws'));
    sender = new JsonRpcProvider(dev.url);
  });
  afterAll(async () => {
    sender?.destroy();
    await reader?.destroy();
  });

  it('deploys a contract, waits, and hears of its event', async () => {
    const { abi, code } = compileSolidity(source)['Box'] ?? { abi: [], code: '0x' };
    const wallet = new Wallet(inject('parties')[`ethers${kind}`].key, sender);
    const factory = new ContractFactory(abi as never, code, wallet);
    const deployed = await factory.deploy(7);
    const hash = deployed.deploymentTransaction()?.hash ?? '';
    const receipt = await reader.waitForTransaction(hash);
    const address = await deployed.getAddress();
    expect(receipt).toMatchObject({ status: 1, contractAddress: address });

    const box = new Contract(address, abi as never, reader);
    const read = box.getFunction('value');
    expect(await read()).toBe(7n);
    const heard: bigint[] = [];
    await box.on('Put', (_by: string, value: bigint) => heard.push(value));
    const put = new Contract(address, abi as never, wallet).getFunction('put');
    const { hash: sent } = await put(8);
    expect(await reader.waitForTransaction(sent)).toMatchObject({ status: 1 });
    await until('the event', () => (heard.length > 0 ? true : undefined), 20_000);
    expect(heard).toEqual([8n]);
    expect(await read({ blockTag: 'pending' })).toBe(8n);
    await box.removeAllListeners();
    const block = await reader.getBlock('latest', true);
    expect(block?.prefetchedTransactions.length).toBeGreaterThan(0);
    const events = await box.queryFilter('Put', 0);
    expect(events).toHaveLength(1);
  });
});
