import { setTimeout as pause } from 'node:timers/promises';
import { brief, type Scene, say, seconds } from '../../support/checks.ts';
import { follow, total, untilHead } from '../../support/servers/our-node.ts';
import { tempDir } from '../../support/servers/process.ts';
import { describeErrors, judge } from '../judge.ts';
import { LiveChain } from '../live-chain.ts';
import { traffic } from '../traffic.ts';

/** Forks of several depths replace each other under steady requests: no answer may mix two of them. */
export async function reorgs({ checks, seed, full }: Scene): Promise<void> {
  await using chain = await LiveChain.start(seed, 8, { archive: true });
  await using data = await tempDir('following');
  const anchor = chain.head.number;
  await using ours = await follow({
    dataDir: data.path,
    upstreams: [chain.node.ws],
    rules: chain.node.genesisFile,
  });
  await chain.grow(36);
  await untilHead(ours, chain.head.hash);
  const stop = new AbortController();
  const answering = traffic(
    chain,
    () => ours.url,
    { clients: 4, seed, lowest: anchor, pauseMs: full ? 2 : 10 },
    stop.signal,
  );
  // How many blocks go, and how many come: one more as a rule, fewer as an OP chain may do it.
  const short = [
    [1, 2],
    [3, 4],
    [5, 2],
    [30, 31],
  ] as const;
  const long = [...short, [1, 2], [3, 4], [2, 1], [30, 31], [10, 11], [8, 3], [30, 31]] as const;
  for (const [depth, length] of full ? long : short) {
    // Steady state on both sides of each reorg: the requests are the test.
    await chain.grow(3);
    await pause(300);
    const started = performance.now();
    await chain.reorg(depth, length);
    const told = performance.now();
    await untilHead(ours, chain.head.hash);
    say(
      `${depth} blocks for ${length}: ours on the new fork ${seconds(told)} after the upstream (which took ${((told - started) / 1000).toFixed(2)} s)`,
    );
    await pause(300);
  }
  stop.abort();
  const exchanges = await answering;
  const { answers, equal, notThere, notReached, errors, heads, wrong } = await judge(
    exchanges,
    chain,
    anchor,
  );
  const errorCount = [...errors.values()].reduce((sum, count) => sum + count, 0);
  say(
    `${answers} answers in ${exchanges.length} responses from ${heads.size} snapshots: ${equal} equal the upstream's, ${notThere} about blocks the snapshot does not have, ${notReached} not reached within the 2 s of x-chain-at-least`,
  );
  say(`errors: ${errorCount} of ${answers}: ${describeErrors(errors)}`);
  say(`reorganisations counted: ${await total(ours, 'chain_query_reorganisations_total')}`);
  checks.check(
    'every answer is of the snapshot it names',
    wrong.length === 0,
    `${wrong.length}, first: ${brief(wrong.slice(0, 3))}`,
  );
  checks.check('answers were compared', equal > 200, equal);
  checks.check('errors are few', errorCount * 50 <= answers, `${errorCount} of ${answers}`);
}
