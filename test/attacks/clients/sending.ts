import type { Socket } from 'node:net';
import type { Hex } from 'viem';
import { opChainId, opFunder } from '../../support/servers/op-genesis.ts';
import { plainRequest, rpc, type Target } from '../target.ts';

/** A transaction that waits in pools for ever: none comes before it. */
export const neverReady = (seed: number): Promise<Hex> =>
  opFunder.signTransaction({
    ...{ chainId: opChainId, type: 'eip1559', nonce: 1_000_000 + (seed % 1_000), to: opFunder.address },
    ...{ gas: 21_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n },
  });

/** Waits for a receipt that never comes, on more connections than a node works on requests, as long as they may. */
export async function waitsForReceipts(target: Target): Promise<void> {
  const raw = await neverReady(target.seed);
  const request = plainRequest(rpc('eth_sendRawTransactionSync', [raw, 10_000]));
  const sockets: Socket[] = [];
  const wait = async (): Promise<void> => {
    const socket = await target.connect();
    socket.on('data', (data: Buffer) => {
      const isRefused = data.toString('latin1').startsWith('HTTP/1.1 503');
      if (!target.isOver) setTimeout(() => void target.write(socket, request), isRefused ? 500 : 0);
    });
    await target.write(socket, request);
    sockets.push(socket);
  };
  while (sockets.length < 2_600 && !target.isOver) await Promise.all(Array.from({ length: 50 }, wait));
  await target.part(0.6);
  for (const socket of sockets) socket.removeAllListeners('data').destroy();
  // Their places are free again.
  await target.postAfterwards(rpc('eth_sendRawTransactionSync', [raw, 100]));
}
