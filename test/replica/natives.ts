import { readFile, writeFile } from 'node:fs/promises';
import type { Hex } from 'viem';
import type { WorkloadChain } from '../support/servers/chains.ts';
import { sendBatchNoting } from '../support/servers/rpc-client.ts';
import type { ContractName } from '../support/workload/contracts.ts';
import type { Workload } from '../support/workload/workload.ts';
import { type Replica, startReplica } from './ours.ts';

/** Called directly, through proxies, and to create and destroy others; what they call may fail. */
const natives: readonly ContractName[] = ['Token', 'Counter', 'DoubleCounter', 'Workshop'];

/** Rules that say of contracts of the workload, which are ordinary ones, that they are native. */
async function rulesWithNatives(chain: WorkloadChain, workload: Workload): Promise<string> {
  const rules = JSON.parse(await readFile(chain.rulesFile, 'utf8')) as { config: object };
  const nativeContracts = natives.map((name) => workload.addressOf(name));
  const file = `${chain.rulesFile}.native`;
  await writeFile(file, JSON.stringify({ ...rules, config: { ...rules.config, nativeContracts } }));
  return file;
}

/** Our node, told that contracts of the workload are native: they must be deployed. */
export async function startWithNatives(
  chain: WorkloadChain,
  workload: Workload,
  options: readonly string[],
): Promise<Replica> {
  return startReplica({ ...chain, rulesFile: await rulesWithNatives(chain, workload) }, options);
}

/** Whether answers to single calls say where they come from: what is wrong, if anything is. */
export async function checkNaming(replica: Replica, workload: Workload): Promise<string[]> {
  const sourceOf = async (to: Hex): Promise<string | null> => {
    const call = { method: 'eth_call', params: [{ to, gas: '0x100000' }, 'latest'] };
    return (await sendBatchNoting(replica.url, [call])).headers.get('x-chain-source');
  };
  const wrong: string[] = [];
  for (const name of natives) {
    if ((await sourceOf(workload.addressOf(name))) !== 'upstream') wrong.push(`${name} is not named`);
  }
  // It delegates to a native one.
  if ((await sourceOf(workload.addressOf('Proxy'))) !== 'upstream') wrong.push('Proxy is not named');
  for (const to of [workload.addressOf('Mortal'), workload.senders[0]?.address ?? '0x'] as const) {
    if ((await sourceOf(to)) !== null) wrong.push(`${to} is named, though it was executed`);
  }
  return wrong;
}
