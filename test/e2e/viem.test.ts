import {
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  decodeErrorResult,
  type Hex,
  http,
  type PublicClient,
  parseAbi,
  parseAbiItem,
  RpcRequestError,
} from 'viem';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OurNode, startOurNode } from '../support/servers/node.ts';
import { makeTokenChain, owner, type TokenChain } from '../support/workload/token.ts';

const reverter = '0x0ee3ab1371c93e7c0c281cc0c2107cdebc8b1930';
const emitter = '0x7dcd17433742f4c0ca53122ab541d0ba67fc27df';
const tokenAbi = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function fail(uint256 how) view returns (uint256)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'error Refused(address who, uint256 code)',
]);

/** The innermost error that viem recognised. */
function cause<T extends Error>(error: unknown, kind: new (...args: never[]) => T): T {
  const found = error instanceof BaseError ? error.walk((inner) => inner instanceof kind) : undefined;
  if (!(found instanceof kind)) throw new Error(`no ${kind.name} in ${String(error)}`);
  return found;
}

describe.each(['public', 'dedicated'] as const)('viem on the %s endpoint', (endpoint) => {
  let official: OurNode;
  let client: PublicClient;

  beforeAll(async () => {
    official = await startOurNode();
    const url = endpoint === 'public' ? official.publicUrl : official.dedicatedUrl;
    client = createPublicClient({ transport: http(url, { batch: true, retryCount: 0 }) });
  });
  afterAll(() => official?.stop());

  test('knows the chain', async () => {
    expect(await client.getChainId()).toBe(3503995874084926);
    expect(await client.getBlockNumber()).toBe(54n);
  });

  test('reads state, batched into one request', async () => {
    const [slot, nonce, past] = await Promise.all([
      client.getStorageAt({ address: emitter, slot: '0x0' }),
      client.getTransactionCount({ address: '0x0300100f529a704d19736a8714837adbc934db7f' }),
      client.getStorageAt({ address: emitter, slot: '0x0', blockNumber: 0n }),
    ]);
    expect(slot).toBe(`0x${'38'.padStart(64, '0')}`);
    expect(nonce).toBe(1);
    expect(past).toBe(`0x${'0'.repeat(64)}`);
  });

  test('gives the data of a revert, with which viem decodes the reason', async () => {
    const failure = await client.call({ to: reverter, data: '0x01' }).catch((error: unknown) => error);
    const { code, data } = cause(failure, RpcRequestError);
    expect(code).toBe(-32000);
    const abi = parseAbi(['error Error(string)']);
    expect(decodeErrorResult({ abi, data: data as Hex }).args).toEqual(['user error']);
  });

  test('gives the receipts of a block, except in public', async () => {
    const receipts = client.request({ method: 'eth_getBlockReceipts' as never, params: ['0x1'] as never });
    // A batch, even of one, is answered entry by entry: the refusal is in the entry.
    if (endpoint === 'public') await expect(receipts).rejects.toThrow('public');
    else expect(await receipts).toHaveLength(4);
  });

  test('says that a block is not there', async () => {
    await expect(client.getTransactionCount({ address: emitter, blockNumber: 1000n })).rejects.toThrow(
      'block not found',
    );
  });
});

describe('viem with a contract', () => {
  let chain: TokenChain;
  let node: OurNode;
  let client: PublicClient;

  beforeAll(async () => {
    chain = await makeTokenChain(3, 20);
    node = await startOurNode([], chain.files);
    client = createPublicClient({ transport: http(node.publicUrl, { retryCount: 0 }) });
  });
  afterAll(async () => {
    await node?.stop();
    await chain?.[Symbol.asyncDispose]();
  });

  const contract = () => ({ address: chain.token.address, abi: tokenAbi }) as const;

  test('reads it', async () => {
    const balance = await client.readContract({
      ...contract(),
      functionName: 'balanceOf',
      args: [owner.address],
    });
    expect(balance).toBe(10n ** 30n);
  });

  test('simulates a transaction without making one', async () => {
    const { result } = await client.simulateContract({
      ...contract(),
      functionName: 'transfer',
      args: [owner.address, 1n],
      account: owner.address,
    });
    expect(result).toBe(true);
  });

  test.each([
    [0n, 'Error', ['zero is refused']],
    [1n, 'Refused', ['0x0000000000000000000000000000000000000000', 42n]],
    [2n, 'Panic', [0x12n]],
  ])('decodes the revert of fail(%s)', async (how, errorName, args) => {
    const failure = await client
      .readContract({ ...contract(), functionName: 'fail', args: [how] })
      .catch((error: unknown) => error);
    const { data } = cause(failure, ContractFunctionRevertedError);
    expect(data?.errorName).toBe(errorName);
    expect(data?.args).toEqual(args);
  });

  test('finds the logs of an event', async () => {
    const event = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)');
    const logs = await client.getLogs({
      address: chain.token.address,
      event,
      fromBlock: 0n,
      toBlock: 'latest',
    });
    expect(logs).toHaveLength(60);
    expect(logs.map(({ args }) => args.value)).toEqual(
      Array.from({ length: 60 }, (_, at) => BigInt(at % 20)),
    );
    const one = logs[30];
    const same = await client.getLogs({
      address: chain.token.address,
      event,
      args: { to: one?.args.to },
      fromBlock: 0n,
    });
    expect(same).toEqual([one]);
  });

  test('finds the same events through the contract', async () => {
    const events = await client.getContractEvents({
      ...contract(),
      eventName: 'Transfer',
      args: { from: owner.address },
      fromBlock: 0n,
    });
    expect(events).toHaveLength(60);
  });
});
