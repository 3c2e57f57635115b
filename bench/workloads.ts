import { encodeAbiParameters, encodeFunctionData, keccak256 } from 'viem';
import { type Call, request } from '../test/support/servers/rpc-client.ts';
import { owner, type Token } from '../test/support/workload/token.ts';

interface Log {
  readonly topics: readonly string[];
}

export interface Workload {
  readonly name: string;
  /** What a client would say it is doing. */
  readonly title: string;
  readonly call: Call;
  /** What is asked instead, where it is made at the server first. */
  readonly prepare?: () => Promise<Call>;
  /** Part of the answer that every server with the same contract must agree on, hashes and times being their own. */
  readonly essence: (result: unknown) => unknown;
}

export const quantity = (value: number): string => `0x${value.toString(16)}`;

export const logEssence = (result: unknown): unknown =>
  (result as readonly { address: string; topics: unknown; data: string; logIndex: string }[]).map(
    ({ address, topics, data, logIndex }) => ({ address: address.toLowerCase(), topics, data, logIndex }),
  );

/** The questions for one server; the chain is the same everywhere, its block numbers may not be. */
export async function workloads(url: string, token: Token): Promise<readonly Workload[]> {
  const { abi, address, blocks } = token;
  const middle = blocks[Math.floor(blocks.length / 2)] ?? 0;
  const call = (functionName: string, argument: unknown): Call => ({
    method: 'eth_call',
    params: [{ to: address, data: encodeFunctionData({ abi, functionName, args: [argument] }) }, 'latest'],
  });
  const range = (from: number, to: number) => ({ address, fromBlock: quantity(from), toBlock: quantity(to) });
  const [sample] = await request<readonly Log[]>(url, 'eth_getLogs', [range(middle, middle)]);
  const receiver = sample?.topics[2];
  if (receiver === undefined) throw new Error(`${url} has no logs in block ${middle}`);
  const same = (result: unknown): unknown => result;
  const balanceSlot = keccak256(
    encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [owner.address, 0n]),
  );
  return [
    {
      name: 'nonce',
      title: 'eth_getTransactionCount',
      call: { method: 'eth_getTransactionCount', params: [owner.address, 'latest'] },
      essence: same,
    },
    {
      name: 'storage',
      title: 'eth_getStorageAt',
      call: { method: 'eth_getStorageAt', params: [address, balanceSlot, 'latest'] },
      essence: same,
    },
    {
      name: 'balanceOf',
      title: 'eth_call, balanceOf',
      call: call('balanceOf', owner.address),
      essence: same,
    },
    { name: 'spin', title: 'eth_call, 1,000 keccaks', call: call('spin', 1000n), essence: same },
    {
      name: 'logs-block',
      title: 'eth_getLogs, one block, 100 logs',
      call: { method: 'eth_getLogs', params: [range(middle, middle)] },
      essence: logEssence,
    },
    {
      name: 'logs-selective',
      title: 'eth_getLogs, 1 match of all',
      call: {
        method: 'eth_getLogs',
        params: [{ ...range(0, blocks.at(-1) ?? 0), topics: [null, null, receiver] }],
      },
      essence: logEssence,
    },
    {
      name: 'receipts',
      title: 'eth_getBlockReceipts, 100 logs',
      call: { method: 'eth_getBlockReceipts', params: [quantity(middle)] },
      essence: (result) =>
        (result as readonly { status: string; logs: unknown }[]).map(({ status, logs }) => ({
          status,
          logs: logEssence(logs),
        })),
    },
  ];
}
