import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { conformanceDir, exchangesDir } from '../support/servers/paths.ts';

/** The methods we answer that ethereum/execution-apis has vectors for. */
export const coveredMethods = [
  'eth_call',
  'eth_estimateGas',
  'eth_createAccessList',
  'debug_traceTransaction',
  'debug_traceBlockByNumber',
  'debug_traceBlockByHash',
  'eth_getLogs',
  'eth_getBlockReceipts',
  'eth_getStorageAt',
  'eth_getTransactionCount',
  'eth_chainId',
  'eth_blockNumber',
  'net_version',
  'eth_syncing',
  'eth_getBalance',
  'eth_getCode',
  'eth_getStorageValues',
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getBlockTransactionCountByHash',
  'eth_getBlockTransactionCountByNumber',
  'eth_getTransactionByBlockHashAndIndex',
  'eth_getTransactionByBlockNumberAndIndex',
  'eth_getTransactionByHash',
  'eth_getTransactionReceipt',
  'debug_getRawBlock',
  'debug_getRawHeader',
  'debug_getRawReceipts',
  'debug_getRawTransaction',
  'eth_feeHistory',
  'eth_baseFee',
  'eth_blobBaseFee',
  'eth_sendRawTransaction',
  'eth_config',
  'eth_capabilities',
  'eth_getProof',
  'eth_simulateV1',
] as const;

/** One request of an official `.io` file with the response that its authors expect. */
export interface Exchange {
  readonly request: string;
  readonly response: unknown;
}

export interface Vector {
  /** `<method>/<case>`, as the file is called. */
  readonly name: string;
  /** The authors only prescribe the shape of the response, not its values. */
  readonly shapeOnly: boolean;
  readonly exchanges: readonly Exchange[];
}

/** Reads a file of requests and responses. */
export function parseVector(name: string, text: string): Vector {
  const exchanges: Exchange[] = [];
  let shapeOnly = false;
  let request: string | undefined;
  for (const line of text.split('\n')) {
    if (line.startsWith('//')) shapeOnly ||= line.includes('speconly:');
    else if (line.startsWith('>> ')) request = line.slice(3);
    else if (line.startsWith('<< ')) {
      if (request === undefined) throw new Error(`${name}: a response without a request`);
      exchanges.push({ request, response: JSON.parse(line.slice(3)) });
      request = undefined;
    }
  }
  if (exchanges.length === 0) throw new Error(`${name} holds no exchange`);
  return { name, shapeOnly, exchanges };
}

/** What the docs show of methods that there are no exact vectors of, recorded of our own node on the official chain. */
export async function loadExchanges(): Promise<readonly Vector[]> {
  const files = (await readdir(exchangesDir)).filter((file) => file.endsWith('.io')).toSorted();
  return Promise.all(
    files.map(async (file) =>
      parseVector(`exchanges/${file.slice(0, -3)}`, await readFile(join(exchangesDir, file), 'utf8')),
    ),
  );
}

export async function loadVectors(): Promise<readonly Vector[]> {
  const vectors: Vector[] = [];
  for (const method of coveredMethods) {
    const dir = join(conformanceDir, 'vectors', method);
    for (const file of (await readdir(dir)).toSorted()) {
      if (!file.endsWith('.io')) continue;
      const name = `${method}/${file.slice(0, -'.io'.length)}`;
      vectors.push(parseVector(name, await readFile(join(dir, file), 'utf8')));
    }
  }
  return vectors;
}
