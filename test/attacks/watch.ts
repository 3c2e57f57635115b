import { Worker } from 'node:worker_threads';
import type { HonestClients, HonestReport } from './honest.ts';
import { rpc } from './target.ts';

const KNOWN = '0x4200000000000000000000000000000000000015';
const CLIENTS = 8;
const EVERY_MS = 30;

/** Light requests, as most are. */
const LIGHT = [
  rpc('eth_blockNumber', []),
  rpc('eth_getStorageAt', [KNOWN, '0x0', 'latest']),
  rpc('eth_getTransactionCount', [KNOWN, 'pending']),
  rpc('eth_call', [{ to: KNOWN, data: `0x${'00'.repeat(32)}` }, 'latest']),
  rpc('eth_getLogs', [{ fromBlock: 'latest', toBlock: 'latest', address: KNOWN }]),
];

/** Starts honest clients; what is given back ends them, and says how they fared. */
export function watchHonest(port: number): () => Promise<HonestReport> {
  return watchClients({ port, clients: CLIENTS, everyMs: EVERY_MS, bodies: LIGHT });
}

/** The same for clients that are told what to ask. */
export function watchClients(workerData: HonestClients): () => Promise<HonestReport> {
  const worker = new Worker(new URL('honest.ts', import.meta.url), { workerData });
  return () =>
    new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.postMessage('end');
    });
}
