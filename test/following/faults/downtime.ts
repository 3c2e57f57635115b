import { isDeepStrictEqual } from 'node:util';
import { brief, type Scene, say, seconds } from '../../support/checks.ts';
import { Random } from '../../support/random.ts';
import { follow, readiness, untilHead, writes } from '../../support/servers/our-node.ts';
import { tempDir, until } from '../../support/servers/process.ts';
import { request } from '../../support/servers/rpc-client.ts';
import { describeErrors, judge } from '../judge.ts';
import { LiveChain } from '../live-chain.ts';
import { type Exchange, exchange, Requests } from '../traffic.ts';

/** Ours is stopped while the chain goes on: within what an ordinary upstream keeps, and beyond it. */
export async function downtime({ checks, seed }: Scene): Promise<void> {
  // Not an archive: the state of the last 128 blocks.
  await using chain = await LiveChain.start(seed, 10);
  await using data = await tempDir('downtime');
  const options = { dataDir: data.path, upstreams: [chain.node.ws], rules: chain.node.genesisFile };
  const anchor = chain.head.number;
  {
    await using ours = await follow(options);
    await chain.grow(5);
    await untilHead(ours, chain.head.hash);
  }
  await chain.growEmpty(70);
  await chain.grow(30);
  {
    const started = performance.now();
    await using ours = await follow(options);
    const listening = performance.now();
    await untilHead(ours, chain.head.hash, 60_000);
    say(
      `100 blocks behind: at the head ${seconds(started)} after the start, ${seconds(listening)} after it listened`,
    );
    checks.check(
      'it went on where it stood',
      !ours.running.output().includes('a new copy begins'),
      ours.running.output().slice(-1000),
    );
    const filter = [{ fromBlock: `0x${anchor.toString(16)}`, toBlock: 'latest' }];
    const [logs, theirs] = await Promise.all([
      request<readonly unknown[]>(ours.url, 'eth_getLogs', filter),
      request<readonly unknown[]>(chain.node.url, 'eth_getLogs', filter),
    ]);
    checks.check(`all ${theirs.length} logs since the anchor are the same`, isDeepStrictEqual(logs, theirs));
    await compare(ours.url, chain, seed, chain.head.number - 100, checks.check.bind(checks));
  }
  await chain.growEmpty(190);
  await chain.grow(10);
  {
    await using ours = await follow(options);
    const state = await until('/readyz to say that the state is gone', async () => {
      const now = await readiness(ours);
      return /state/.test(brief(now.reasons ?? [])) ? now : undefined;
    });
    say(`200 blocks behind a pruned upstream, for less than --reanchor-after: ${brief(state.reasons)}`);
    checks.check('the copy is kept', !ours.running.output().includes('a new copy begins'));
  }
  const started = performance.now();
  await using ours = await follow({ ...options, more: ['--reanchor-after', '1s'] });
  await untilHead(ours, chain.head.hash, 60_000);
  await writes(ours.running, 'a new copy begins');
  const line = ours.running
    .output()
    .split('\n')
    .find((text) => text.includes('a new copy begins'));
  say(
    `200 blocks behind a pruned upstream: at the head ${seconds(started)} after the start; ${line === undefined ? 'it went on' : brief(line)}`,
  );
  checks.check(
    'it says loudly that it re-anchored',
    line?.includes('"level":"warn"') === true,
    ours.running.output().slice(-2000),
  );
  await compare(ours.url, chain, seed + 1, chain.head.number, checks.check.bind(checks));
}

async function compare(
  url: string,
  chain: LiveChain,
  seed: number,
  lowest: number,
  check: (what: string, holds: boolean, detail?: unknown) => void,
): Promise<void> {
  const requests = new Requests(chain, new Random(seed, 3), lowest);
  const sampled: Exchange[] = [];
  for (let left = 80; left > 0; left -= 1) sampled.push(await exchange(url, [requests.next()]));
  const { answers, equal, errors, wrong } = await judge(sampled, chain, lowest);
  say(`${equal} of ${answers} answers equal the upstream's; errors: ${describeErrors(errors)}`);
  check('answers equal the upstream', wrong.length === 0, brief(wrong.slice(0, 3)));
}
