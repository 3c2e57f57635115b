import { setTimeout as pause } from 'node:timers/promises';
import { brief, type Scene, say } from '../../support/checks.ts';
import { type FollowingNode, follow, readiness, untilHead } from '../../support/servers/our-node.ts';
import { tempDir, until } from '../../support/servers/process.ts';
import { AnvilChain } from '../anvil-chain.ts';
import { HeadsServed, numberOf } from '../heads-served.ts';
import { IMPATIENT } from './leaders.ts';

const marksOf = async (node: FollowingNode): Promise<string> =>
  `${await numberOf(node, 'safe')}/${await numberOf(node, 'finalized')}`;

const untilMarked = (node: FollowingNode, marks: string): Promise<true> =>
  until(`our marks to be ${marks}`, async () => ((await marksOf(node)) === marks ? true : undefined), 10_000);

/** Upstreams call different blocks safe and final, and go back on what they said. */
export async function finality({ checks }: Scene): Promise<void> {
  // One calls blocks safe after 4 and final after 8, the other after 1 and 2.
  await using a = await AnvilChain.start(4);
  await using b = await AnvilChain.start(1);
  await using data = await tempDir('finality');
  const base = { dataDir: data.path, rules: 'anvil' };
  await Promise.all([a.mine(20), b.mine(30)]);
  const atTwenty = await a.snapshot();
  const { hash: twentyFour } = await a.mine(4);
  const atTwentyFour = await a.snapshot();
  await a.mine(6);
  {
    const more = [...IMPATIENT, '--anchor', '15'];
    await using ours = await follow({ ...base, upstreams: [a.url, b.url], more });
    await untilHead(ours, (await a.head()).hash);
    await untilMarked(ours, '26/22');
    await pause(600);
    checks.check("only the leader's word counts", (await marksOf(ours)) === '26/22', await marksOf(ours));
    say(`the leader says 26/22, another one 29/28: ours are ${await marksOf(ours)}`);
  }
  {
    const more = [...IMPATIENT, '--reanchor-after', '1s'];
    await using ours = await follow({ ...base, upstreams: [a.url], more });
    checks.check('they are the same after a restart', (await marksOf(ours)) === '26/22', await marksOf(ours));
    await using served = new HeadsServed(ours);
    await a.revert(atTwentyFour);
    await untilHead(ours, twentyFour, 10_000);
    checks.check(
      'safe goes back with its block, finalized does not',
      (await marksOf(ours)) === '24/22',
      await marksOf(ours),
    );
    const known = new Map(a.known);
    await a.revert(atTwenty);
    await a.fork(1);
    await a.mine(15);
    const state = await until('/readyz to say 503', async () => {
      const now = await readiness(ours);
      return now.status === 503 ? now : undefined;
    });
    say(`another fork from below block 22: ${brief(state.reasons)}`);
    checks.check('/readyz says why', brief(state.reasons).includes('block 22, which is final'), state);
    await pause(3_000);
    checks.check('they stay where they are', (await marksOf(ours)) === '24/22', await marksOf(ours));
    checks.check('nothing of that fork was served', served.others(known).length === 0, served.others(known));
    const output = ours.running.output();
    checks.check('the copy was kept', !output.includes('a new copy begins'), output.slice(-1000));
  }
  await using ours = await follow({ ...base, upstreams: [a.url, b.url], more: IMPATIENT });
  await untilHead(ours, (await b.head()).hash, 10_000);
  await untilMarked(ours, '29/28');
  checks.check('it goes on with one that has what is final', true);
}
