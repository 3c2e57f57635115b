import type { Hex } from 'viem';
import type { Lie } from '../support/lies/lies.ts';
import { startLyingProxy } from '../support/lies/proxy.ts';
import { Random } from '../support/random.ts';
import { startChain, type WorkloadChain } from '../support/servers/chains.ts';
import { until } from '../support/servers/process.ts';
import { request } from '../support/servers/rpc-client.ts';
import { mappingSlot } from '../support/workload/catalogue.ts';
import { Draft } from '../support/workload/draft.ts';
import { Workload } from '../support/workload/workload.ts';
import { startWithNatives } from './natives.ts';
import { type Replica, startReplica } from './ours.ts';

const deadlineMs = 60_000;

interface Case {
  readonly lie: Lie;
  /** Whether it is found at once. What a diff leaves out is found when the next one contradicts the copy. */
  readonly isFound: boolean;
}

const cases: readonly Case[] = [
  { lie: { about: 'diff value' }, isFound: true },
  { lie: { about: 'receipt', field: 'status' }, isFound: true },
  { lie: { about: 'diff omission' }, isFound: false },
];

/** Moves tokens, in a block of its own, and gives the slot of who gets them. */
async function transfer(chain: WorkloadChain, workload: Workload, count: number): Promise<Hex> {
  const to = workload.senders[0]?.address ?? '0x';
  const draft = new Draft(workload, new Random(count, 0), count);
  await workload.next(0);
  const data = draft.encode('Token', 'transfer', [to, 1n]);
  await draft.send({ to: workload.addressOf('Token'), data }, chain.traits.funder);
  await chain.mine({ deposits: [], transactions: draft.transactions });
  return mappingSlot(to, 0);
}

/** The same slot of the token at both, once ours has reached the upstream's head. */
async function compare(
  chain: WorkloadChain,
  workload: Workload,
  replica: Replica,
  slot: Hex,
): Promise<boolean> {
  const head = Number(await request<Hex>(chain.url, 'eth_blockNumber'));
  await until(
    'our node to reach the head',
    async () => ((await replica.head()).number >= head ? true : undefined),
    deadlineMs,
  );
  const params = [workload.addressOf('Token'), slot, 'latest'];
  const [ours, theirs] = await Promise.all(
    [replica.url, chain.url].map((url) => request<Hex>(url, 'eth_getStorageAt', params)),
  );
  return ours === theirs;
}

/** Has an upstream lie in state diffs and receipts of blocks that are not executed, for either reason; gives what went wrong. */
export async function runLies(
  seed: number,
  reason: 'native contracts' | 'an unknown fork',
): Promise<readonly string[]> {
  const wrong: string[] = [];
  const isForked = reason === 'an unknown fork';
  await using chain = await startChain('geth', { debug: true, ...(isForked && { forkAfter: 0 }) });
  const workload = new Workload(seed, chain.traits, chain.readNonces);
  for await (const block of workload.setup()) await chain.mine(block);
  for (const { lie, isFound } of cases) {
    await using proxy = await startLyingProxy(chain.url);
    await using honest = await startLyingProxy(chain.url);
    const options = ['--verify-state', '--upstream', honest.url];
    // There is nobody else to ask until the lie is told.
    await honest.down();
    const followed = { ...chain, ws: proxy.url };
    await using replica = isForked
      ? await startReplica(followed, [...options, '--unknown-fork', 'follow-by-diffs'])
      : await startWithNatives(followed, workload, options);
    const expect = async (what: string, slot: Hex, equal: boolean): Promise<void> => {
      if ((await compare(chain, workload, replica, slot)) !== equal) wrong.push(`${lie.about}: ${what}`);
    };
    await expect('a truth differs', await transfer(chain, workload, 1), true);
    proxy.lie = lie;
    const slot = await transfer(chain, workload, 2);
    await until('the lie to be told', async () => (proxy.told > 0 ? true : undefined), deadlineMs);
    await honest.up();
    await expect(isFound ? 'it was believed' : 'it was found, which the docs deny', slot, isFound);
    const lies = await replica.lies();
    if (isFound !== lies > 0) wrong.push(`${lie.about}: ${lies} lies were counted`);
    proxy.lie = undefined;
    await expect('it stays believed', await transfer(chain, workload, 3), true);
    console.log(`  ${lie.about}: ${isFound ? 'caught' : 'believed until the next block contradicted it'}`);
  }
  return wrong;
}
