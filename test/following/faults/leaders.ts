import { setTimeout as pause } from 'node:timers/promises';
import { brief, type Scene, say, seconds } from '../../support/checks.ts';
import { startPaperChain } from '../../support/lies/paper-chain.ts';
import { startLyingProxy } from '../../support/lies/proxy.ts';
import {
  type FollowingNode,
  follow,
  metric,
  readiness,
  untilHead,
  writes,
} from '../../support/servers/our-node.ts';
import { tempDir, until } from '../../support/servers/process.ts';
import { request } from '../../support/servers/rpc-client.ts';
import { AnvilChain } from '../anvil-chain.ts';
import { HeadsServed } from '../heads-served.ts';

/** Short, so that a test need not wait for long; what it is makes no difference to what is tested. */
const HYSTERESIS_MS = 1_000;
export const IMPATIENT = ['--leader-hysteresis', `${HYSTERESIS_MS}ms`, '--finality-ms', '200'];

/** The name of the upstream whose chain is followed. */
async function leaderOf(node: FollowingNode): Promise<string | undefined> {
  const leads = await metric(node, 'chain_query_upstream_leads');
  const [labels] = [...leads].find(([, value]) => value === 1) ?? [];
  return /upstream="([^"]*)"/.exec(labels ?? '')?.[1];
}

async function start(
  dataDir: string,
  upstreams: readonly string[],
  more: readonly string[] = [],
): Promise<FollowingNode> {
  return follow({ dataDir, upstreams, rules: 'anvil', more: [...IMPATIENT, ...more] });
}

/** Has two anvils make the same first blocks. */
async function mineTwins(a: AnvilChain, b: AnvilChain, blocks: number): Promise<void> {
  const [one, two] = await Promise.all([a.mine(blocks), b.mine(blocks)]);
  if (one.hash !== two.hash) throw new Error('two anvils that were told the same have different chains');
}

/** Two upstreams on different forks: the leader's is followed, whichever is higher. */
export async function forks({ checks }: Scene): Promise<void> {
  await using a = await AnvilChain.start();
  await using b = await AnvilChain.start();
  await mineTwins(a, b, 12);
  await using gate = await startLyingProxy(a.url);
  await b.fork(1);
  await b.mine(1);
  await a.mine(3);
  await using data = await tempDir('forks');
  await using ours = await start(data.path, [gate.url, b.url]);
  await untilHead(ours, (await a.head()).hash);
  checks.check('the highest leads at the start', (await leaderOf(ours)) === gate.url, await leaderOf(ours));
  await using served = new HeadsServed(ours);
  for (let round = 0; round < 8; round += 1) {
    // Higher by far, and it goes on.
    await b.mine(5);
    const { hash } = await a.mine(1);
    const told = performance.now();
    await untilHead(ours, hash, 5_000);
    if (round === 0) say(`a block of the leader, beside a higher fork: ours after ${seconds(told)}`);
    await pause(HYSTERESIS_MS / 4);
  }
  const told = performance.now();
  await untilHead(ours, (await a.reorg(3)).hash, 5_000);
  say(`3 blocks for 3 of the leader: ours on the new fork after ${seconds(told)}`);
  // Without the leader there is only one of another fork, which parts from ours below the anchor.
  await gate.down();
  await until(
    'the other one to lead',
    async () => ((await leaderOf(ours)) === b.url ? true : undefined),
    10_000,
  );
  await pause(HYSTERESIS_MS);
  await gate.up();
  await untilHead(ours, (await a.mine(1)).hash, 20_000);
  checks.check(
    'nothing of the other fork was served',
    served.others(a.known).length === 0,
    served.others(a.known),
  );
  checks.check('something was served', served.heads.size >= 8, served.heads.size);
  const began = ours.running.output().split('a new copy begins').length - 1;
  checks.check('the copy was kept', began === 1, began);
  say(`heads served: ${served.heads.size}, all of the leader's chain`);
}

/** One upstream falls behind: at first nobody minds, then the other leads. One that steps back is followed back alone. */
export async function behind({ checks }: Scene): Promise<void> {
  await using a = await AnvilChain.start();
  await using b = await AnvilChain.start();
  await mineTwins(a, b, 10);
  const early = await a.snapshot();
  await using data = await tempDir('behind');
  {
    await using ours = await start(data.path, [a.url, b.url]);
    await untilHead(ours, (await a.head()).hash);
    await using served = new HeadsServed(ours);
    // The other one stands still.
    for (let round = 0; round < 3; round += 1) await untilHead(ours, (await a.mine(1)).hash, 5_000);
    checks.check('the leader goes on alone', (await leaderOf(ours)) === a.url);
    await b.mine(3);
    const told = performance.now();
    await untilHead(ours, (await b.mine(1)).hash, 5_000);
    say(`a block that only another one has, which extends ours: ours after ${seconds(told)}`);
    await until(
      'the other one to lead',
      async () => ((await leaderOf(ours)) === b.url ? true : undefined),
      10_000,
    );
    say(`another one led ${seconds(told)} after the leader stood still`);
    // Back on an older block, without a new one: behind, and no reason to go anywhere.
    const { number } = await a.revert(early);
    await pause(2 * HYSTERESIS_MS);
    checks.check(
      'nobody went back',
      [...served.heads.values()].every((height) => height > number - 1),
      [...served.heads.values()],
    );
    checks.check('all of it was of one chain', served.others(b.known).length === 0, served.others(b.known));
    await untilHead(ours, (await b.mine(1)).hash, 5_000);
  }
  await using alone = await start(data.path, [b.url]);
  await untilHead(alone, (await b.head()).hash);
  const snapshot = await b.snapshot();
  const kept = await b.head();
  await untilHead(alone, (await b.mine(4)).hash, 5_000);
  const steppedAt = performance.now();
  await b.revert(snapshot);
  await untilHead(alone, kept.hash, 10_000);
  const ms = performance.now() - steppedAt;
  say(`the only upstream stepped back 4 blocks without a new one: ours after ${seconds(steppedAt)}`);
  checks.check('not before the hysteresis time', ms >= HYSTERESIS_MS, ms);
  await untilHead(alone, (await b.mine(1)).hash, 5_000);
  checks.check(
    'the copy was kept',
    !(await writes(alone.running, 'a new copy begins').then((began) => began)),
  );
}

/** An upstream comes back after as many blocks on another fork as twenty minutes make. */
export async function lateFork({ checks }: Scene): Promise<void> {
  await using a = await AnvilChain.start();
  await a.mine(30);
  const base = await request<Record<string, unknown>>(a.url, 'eth_getBlockByNumber', ['0x5', false]);
  // 20 minutes of 200 ms blocks, each with a hash and a parent that fit.
  await using paper = await startPaperChain(base, a.url, 6_000);
  await using gate = await startLyingProxy(paper.url);
  await gate.down();
  await using data = await tempDir('late-fork');
  await using ours = await start(data.path, [a.url, gate.url], ['--reanchor-after', '2s']);
  await untilHead(ours, (await a.mine(1)).hash);
  await using served = new HeadsServed(ours);
  await gate.up();
  const back = performance.now();
  await until('our node to ask it', () =>
    (gate.forwarded.get('eth_getBlockByNumber') ?? 0) > 0 ? true : undefined,
  );
  for (let round = 0; round < 24; round += 1) {
    paper.grow(1);
    await untilHead(ours, (await a.mine(1)).hash, 5_000);
    await pause(HYSTERESIS_MS / 4);
  }
  say(`${paper.head.number} blocks on another fork, for ${seconds(back)}: ${served.heads.size} heads served`);
  const wrong = [...served.heads.keys()].filter((hash) => paper.hashes.has(hash as `0x${string}`));
  checks.check('nothing of it was served', wrong.length === 0, wrong);
  checks.check('the leader is the same', (await leaderOf(ours)) === a.url, await leaderOf(ours));
  const began = ours.running.output().split('a new copy begins').length - 1;
  checks.check('the copy was kept', began === 1, began);
  checks.check('our node is ready', (await readiness(ours)).ready, await readiness(ours));
}

/** An upstream that was away at the start turns out to be of another chain. */
export async function otherChain({ checks }: Scene): Promise<void> {
  await using a = await AnvilChain.start();
  await using other = await AnvilChain.start(32, 999);
  await using gate = await startLyingProxy(other.url);
  await gate.down();
  await a.mine(5);
  await other.mine(40);
  await using own = await startLyingProxy(a.url);
  await using data = await tempDir('other-chain');
  await using ours = await start(data.path, [own.url, gate.url], ['--ready-upstream-ms', '500']);
  await untilHead(ours, (await a.head()).hash);
  await using served = new HeadsServed(ours);
  await gate.up();
  checks.check('it is said', await writes(ours.running, 'an upstream is of another chain and is not used'));
  await untilHead(ours, (await a.mineTransfer()).hash, 5_000);
  const state = await readiness(ours);
  checks.check('/readyz names it', state.ready && brief(state).includes('is of another chain, 999'), state);
  await own.down();
  await pause(2 * HYSTERESIS_MS);
  checks.check('alone, it is not used either', (await readiness(ours)).status === 503, await readiness(ours));
  checks.check('nothing of it was served', served.others(a.known).length === 0, served.others(a.known));
  const asked = [...gate.forwarded.keys()];
  checks.check('it was asked for its chain and nothing else', brief(asked) === brief(['eth_chainId']), asked);
  const times = ours.running.output().split('an upstream is of another chain').length - 1;
  checks.check('it is said once', times === 1, times);
  await own.up();
  await untilHead(ours, (await a.mine(1)).hash, 20_000);
  say(`asked ${gate.forwarded.get('eth_chainId')} times for its chain; /readyz: ${brief(state)}`);
}
