import { encodeFunctionData, type Hex } from 'viem';
import { until } from '../test/support/servers/process.ts';
import { request } from '../test/support/servers/rpc-client.ts';
import { devChainId, owner, type Token } from '../test/support/workload/token.ts';

/** Below what a pool of geth holds of one account while a nonce is missing. */
export const CROWD = 60;
/** Half of the transactions each give it one wei. */
export const receiver: Hex = `0x${'c0'.repeat(20)}`;

export interface Crowd {
  /** The block that all of them are in. */
  readonly block: number;
  readonly hashes: readonly Hex[];
}

/** Puts transactions into one block: half transfers of the token, half of ether. With `seal`, the chain mines only when told. */
export async function makeCrowd(url: string, token: Token, seal?: () => Promise<unknown>): Promise<Crowd> {
  const first = Number(await request<Hex>(url, 'eth_getTransactionCount', [owner.address, 'latest']));
  const { abi, address } = token;
  const data = encodeFunctionData({ abi, functionName: 'transfer', args: [receiver, 1n] });
  const hashes: Hex[] = [];
  // The last nonce first: none can be mined before all are there.
  for (let at = CROWD - 1; at >= 0; at -= 1) {
    const signed = await owner.signTransaction({
      ...{ chainId: devChainId, type: 'eip1559', nonce: first + at, gas: 100_000n },
      ...{ maxFeePerGas: 10_000_000_000n, maxPriorityFeePerGas: 1n },
      ...(at % 2 === 0 ? { to: address, data } : { to: receiver, value: 1n }),
    });
    hashes.unshift(await request<Hex>(url, 'eth_sendRawTransaction', [signed]));
  }
  await seal?.();
  const blocks = await Promise.all(hashes.map((hash) => blockOf(url, hash)));
  const [block = 0] = blocks;
  if (blocks.some((other) => other !== block)) throw new Error(`${url} has them in blocks ${blocks.join()}`);
  return { block, hashes };
}

async function blockOf(url: string, hash: Hex): Promise<number> {
  const mined = await until('a transaction to be mined', async () => {
    return (
      (await request<{ blockNumber: Hex } | null>(url, 'eth_getTransactionReceipt', [hash])) ?? undefined
    );
  });
  return Number(mined.blockNumber);
}
