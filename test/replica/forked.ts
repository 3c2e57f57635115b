import type { WorkloadChain } from '../support/servers/chains.ts';
import { type Call, sendBatch, sendBatchNoting } from '../support/servers/rpc-client.ts';
import type { Workload } from '../support/workload/workload.ts';
import type { Replica } from './ours.ts';

/** The ring of beacon roots (EIP-4788) and that of block hashes (EIP-2935): blocks write them, no transaction does. */
const rings = ['0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02', '0x0000F90827F1C53a10cb7A02335B175320002935'];
const ringLength = 8191n;

interface Forked {
  /** The first block that was followed by state diffs. */
  readonly from: number;
  readonly wrong: readonly string[];
}

/** Whether a node whose rules are too old says so, and names what it had an upstream answer: what is wrong, if anything is. */
export async function checkForked(
  chain: WorkloadChain,
  replica: Replica,
  workload: Workload,
): Promise<Forked> {
  const wrong: string[] = [];
  const from = await replica.byDiffsFrom();
  const { number: head } = await replica.head();
  if (from === 0 || from >= head) wrong.push(`no block was followed by state diffs, the head is ${head}`);
  const { ready, warnings = [] } = await replica.ready();
  if (!ready) wrong.push('/readyz is not ready');
  if (!warnings.some((text) => text.startsWith('rulesTooOld: '))) wrong.push('/readyz does not warn');
  const sourceOf = async (call: Call): Promise<string | null> =>
    (await sendBatchNoting(replica.url, [call])).headers.get('x-chain-source');
  const to = workload.addressOf('Token');
  const at = (number: number): string => `0x${number.toString(16)}`;
  const expectSource = async (call: Call, source: string | null): Promise<void> => {
    const found = await sourceOf(call);
    if (found !== source) wrong.push(`${JSON.stringify(call)} comes from ${found}, not ${source}`);
  };
  for (const [block, source] of [
    [at(head), 'upstream'],
    [at(from), 'upstream'],
    [at(from - 1), null],
  ] as const) {
    await expectSource({ method: 'eth_call', params: [{ to, gas: '0x100000' }, block] }, source);
    for (const ring of rings)
      await expectSource({ method: 'eth_getStorageAt', params: [ring, '0x1', block] }, source);
    await expectSource({ method: 'eth_getTransactionCount', params: [to, block] }, null);
    await expectSource({ method: 'eth_getStorageAt', params: [to, '0x2', block] }, null);
  }
  // What the last block wrote, and no diff has.
  const reads = rings.map((ring, index) => {
    const slot = index === 0 ? 0n : BigInt(head - 1) % ringLength;
    return { method: 'eth_getStorageAt', params: [ring, `0x${slot.toString(16)}`, at(head)] };
  });
  const [ours, theirs] = await Promise.all([replica.url, chain.url].map((url) => sendBatch(url, reads)));
  if (JSON.stringify(ours) !== JSON.stringify(theirs))
    wrong.push(`the rings are ${JSON.stringify(ours)}, not ${JSON.stringify(theirs)}`);
  return { from, wrong };
}
