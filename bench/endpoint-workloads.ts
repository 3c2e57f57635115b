import { encodeFunctionData } from 'viem';
import { type Call, request } from '../test/support/servers/rpc-client.ts';
import { owner, type Token } from '../test/support/workload/token.ts';
import { CROWD, type Crowd, receiver } from './crowd.ts';
import { logEssence, quantity, type Workload } from './workloads.ts';

interface Transaction {
  readonly hash: string;
  readonly nonce: string;
  readonly input: string;
}

const transactionEssence = ({ hash, nonce, input }: Transaction): unknown => ({ hash, nonce, input });

/** What wallets, libraries and indexers ask beside the five reads. */
export function endpointWorkloads(url: string, token: Token, crowd: Crowd): readonly Workload[] {
  const { abi, address } = token;
  const middle = crowd.hashes[CROWD / 2];
  const data = encodeFunctionData({ abi, functionName: 'transfer', args: [receiver, 1n] });
  const transfer = { from: owner.address, to: address, data };
  const filtered = { address, fromBlock: quantity(crowd.block), toBlock: quantity(crowd.block) };
  const filter = async (method: string, of: object): Promise<Call> => ({
    method,
    params: [await request<string>(url, 'eth_newFilter', [of])],
  });
  const byHash = (method: string): Call => ({ method, params: [middle] });
  return [
    {
      name: 'block',
      title: `eth_getBlockByNumber, ${CROWD} whole transactions`,
      call: { method: 'eth_getBlockByNumber', params: [quantity(crowd.block), true] },
      essence: (result) =>
        (result as { readonly transactions: readonly Transaction[] }).transactions.map(transactionEssence),
    },
    {
      name: 'transaction',
      title: 'eth_getTransactionByHash',
      call: byHash('eth_getTransactionByHash'),
      essence: (result) => transactionEssence(result as Transaction),
    },
    {
      name: 'receipt',
      title: 'eth_getTransactionReceipt',
      call: byHash('eth_getTransactionReceipt'),
      essence: (result) => {
        const { status, gasUsed, logs } = result as { status: string; gasUsed: string; logs: unknown };
        return { status, gasUsed, logs: logEssence(logs) };
      },
    },
    {
      name: 'balance',
      title: 'eth_getBalance',
      call: { method: 'eth_getBalance', params: [receiver, 'latest'] },
      essence: (result) => result,
    },
    {
      name: 'estimate',
      title: 'eth_estimateGas, a token transfer',
      call: { method: 'eth_estimateGas', params: [transfer] },
      // Each searches in its own way, and ends close by.
      essence: (result) => Math.round(Number(result) / 2_000),
    },
    {
      name: 'simulate',
      title: 'eth_simulateV1, two token transfers',
      call: {
        method: 'eth_simulateV1',
        params: [{ blockStateCalls: [{ calls: [transfer, transfer] }] }, 'latest'],
      },
      essence: (result) =>
        (result as readonly { readonly calls: readonly { status: string; returnData: string }[] }[]).map(
          ({ calls }) => calls.map(({ status, returnData }) => ({ status, returnData })),
        ),
    },
    {
      name: 'filter-changes',
      title: 'eth_getFilterChanges, nothing new',
      call: { method: 'eth_getFilterChanges' },
      prepare: () => filter('eth_getFilterChanges', { address }),
      essence: (result) => result,
    },
    {
      name: 'filter-logs',
      title: `eth_getFilterLogs, ${CROWD / 2} logs`,
      call: { method: 'eth_getFilterLogs' },
      prepare: () => filter('eth_getFilterLogs', filtered),
      essence: logEssence,
    },
  ];
}
