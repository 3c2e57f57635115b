import { existsSync, readFileSync } from 'node:fs';
import type { Method } from '../src/methods/method.ts';
import type { DocExchange, MethodExample } from '../src/methods/method-docs.ts';

/** The official vector that the page of a method shows: one that is held byte for byte, by `npm run test:conformance`. */
const VECTORS: Readonly<Record<string, string>> = {
  eth_getLogs: 'contract-addr',
  eth_call: 'call-contract',
  eth_estimateGas: 'estimate-simple-transfer',
  eth_simulateV1: 'ethSimulate-only-from-to-transaction',
  eth_getBlockReceipts: 'get-block-receipts-n',
  eth_getStorageAt: 'get-storage',
  eth_getTransactionCount: 'get-nonce',
  eth_getBalance: 'get-balance',
  eth_getCode: 'get-code',
  eth_getStorageValues: 'get-storage-values',
  eth_getProof: 'get-account-proof-with-storage',
  eth_getBlockByNumber: 'get-block-cancun-fork',
  eth_getBlockByHash: 'get-block-by-hash',
  eth_getBlockTransactionCountByNumber: 'get-block-n',
  eth_getBlockTransactionCountByHash: 'get-block-n',
  eth_getTransactionByBlockNumberAndIndex: 'get-block-n',
  eth_getTransactionByBlockHashAndIndex: 'get-block-n',
  eth_getTransactionByHash: 'get-dynamic-fee',
  eth_getTransactionReceipt: 'get-dynamic-fee',
  debug_getRawHeader: 'get-block-n',
  debug_getRawBlock: 'get-block-n',
  debug_getRawReceipts: 'get-block-n',
  debug_getRawTransaction: 'get-tx',
  eth_baseFee: 'get-current-basefee',
  eth_blobBaseFee: 'get-current-blobfee',
  eth_sendRawTransaction: 'send-legacy-transaction',
  eth_chainId: 'get-chain-id',
  eth_blockNumber: 'simple-test',
  net_version: 'get-network-id',
  eth_syncing: 'check-syncing',
};

/** What the page of a method shows; an error where there is nothing, so that no method is without. */
export async function exampleOf(method: Method, root: URL): Promise<MethodExample> {
  const { name } = method;
  // It describes the methods themselves, which are here.
  if (name === 'rpc.discover') {
    const document = await method.handle([], undefined as never);
    const request = '{"jsonrpc":"2.0","id":1,"method":"rpc.discover","params":[]}';
    const response = { jsonrpc: '2.0', id: 1, result: JSON.parse(document.toString()) as unknown };
    return { from: 'the code itself', exchanges: [{ request, response }] };
  }
  const vector = VECTORS[name];
  const path =
    vector === undefined
      ? `test/data/exchanges/${name}.io`
      : `test/data/conformance/vectors/${name}/${vector}.io`;
  const file = new URL(path, root);
  if (!existsSync(file)) throw new Error(`${name} has no exchange to show: record one as ${path}`);
  const text = readFileSync(file, 'utf8');
  if (vector !== undefined && text.includes('speconly:')) throw new Error(`${path} is not exact`);
  const from =
    vector === undefined
      ? 'our own node on the official chain; `npm run test:conformance` asks it again'
      : `the official vector \`${name}/${vector}\`; \`npm run test:conformance\` asks it again`;
  return { from, exchanges: exchangesIn(text) };
}

function exchangesIn(text: string): readonly DocExchange[] {
  const lines = text.split('\n');
  const of = (mark: string): readonly string[] =>
    lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length));
  const responses = of('<< ');
  return of('>> ').map((request, at) => ({
    request,
    response: JSON.parse(responses[at] ?? 'null') as unknown,
  }));
}
