import { Contract, isCallException, JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OurNode, startOurNode } from '../support/servers/node.ts';
import { makeTokenChain, owner, type TokenChain } from '../support/workload/token.ts';

const reverter = '0x0ee3ab1371c93e7c0c281cc0c2107cdebc8b1930';
const emitter = '0x7dcd17433742f4c0ca53122ab541d0ba67fc27df';
const tokenAbi = [
  'function balanceOf(address) view returns (uint256)',
  'function fail(uint256 how) view returns (uint256)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'error Refused(address who, uint256 code)',
];

describe.each(['public', 'dedicated'] as const)('ethers on the %s endpoint', (endpoint) => {
  let node: OurNode;
  let provider: JsonRpcProvider;

  beforeAll(async () => {
    node = await startOurNode();
    // No network is given: ethers asks the endpoint which one it is, and batches what is asked at once.
    provider = new JsonRpcProvider(endpoint === 'public' ? node.publicUrl : node.dedicatedUrl);
  });
  afterAll(async () => {
    provider?.destroy();
    await node?.stop();
  });

  test('detects the network', async () => {
    expect((await provider.getNetwork()).chainId).toBe(3503995874084926n);
    expect(await provider.getBlockNumber()).toBe(54);
  });

  test('reads state, batched', async () => {
    const [slot, nonce, past] = await Promise.all([
      provider.getStorage(emitter, 0),
      provider.getTransactionCount('0x0300100f529a704d19736a8714837adbc934db7f'),
      provider.getTransactionCount('0x0300100f529a704d19736a8714837adbc934db7f', 0),
    ]);
    expect(slot).toBe(`0x${'38'.padStart(64, '0')}`);
    expect([nonce, past]).toEqual([1, 0]);
  });

  test('gives the data of a revert', async () => {
    const failure = await provider.call({ to: reverter, data: '0x01' }).catch((error: unknown) => error);
    if (!isCallException(failure)) throw failure;
    // This contract does not pad its reason to 32 bytes: ethers refuses to decode it, so only the bytes are compared.
    const reason = Buffer.from('user error').toString('hex');
    expect((failure as { data?: string }).data).toMatch(new RegExp(`^0x08c379a0.*${reason}$`));
  });

  test('gives the receipts of a block, except in public', async () => {
    const receipts = provider.send('eth_getBlockReceipts', ['0x1']);
    if (endpoint === 'public') await expect(receipts).rejects.toThrow('403');
    else expect(await receipts).toHaveLength(4);
  });

  test('finds logs by topic', async () => {
    const logs = await provider.getLogs({
      fromBlock: 3,
      toBlock: 6,
      topics: [null, '0x95b7276947f6331672b0c63eca28c1d39f25286d5e2793d6a487837ff1475ba0'],
    });
    expect(logs.map(({ blockNumber, address }) => [blockNumber, address.toLowerCase()])).toEqual([
      [4, emitter],
    ]);
  });
});

describe('ethers with a contract', () => {
  let chain: TokenChain;
  let node: OurNode;
  let provider: JsonRpcProvider;
  let token: Contract;

  beforeAll(async () => {
    chain = await makeTokenChain(3, 20);
    node = await startOurNode([], chain.files);
    provider = new JsonRpcProvider(node.publicUrl);
    token = new Contract(chain.token.address, tokenAbi, provider);
  });
  afterAll(async () => {
    provider?.destroy();
    await node?.stop();
    await chain?.[Symbol.asyncDispose]();
  });

  test('reads it', async () => {
    expect(await token.getFunction('balanceOf')(owner.address)).toBe(10n ** 30n);
  });

  test('decodes reverts: a reason and a custom error', async () => {
    const fail = token.getFunction('fail');
    await expect(fail(0)).rejects.toMatchObject({ code: 'CALL_EXCEPTION', reason: 'zero is refused' });
    await expect(fail(1)).rejects.toMatchObject({ code: 'CALL_EXCEPTION', revert: { name: 'Refused' } });
  });

  test('finds the logs of an event', async () => {
    const events = await token.queryFilter(token.getEvent('Transfer')(owner.address), 0, 'latest');
    expect(events).toHaveLength(60);
  });
});
