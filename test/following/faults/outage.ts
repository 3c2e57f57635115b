import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { brief, type Scene, say, seconds } from '../../support/checks.ts';
import { startLyingProxy } from '../../support/lies/proxy.ts';
import { Random } from '../../support/random.ts';
import { follow, readiness, untilHead } from '../../support/servers/our-node.ts';
import { tempDir, until } from '../../support/servers/process.ts';
import { send } from '../../support/servers/rpc-client.ts';
import { describeErrors, judge } from '../judge.ts';
import { LiveChain } from '../live-chain.ts';
import { type Asked, type Exchange, exchange, Requests } from '../traffic.ts';

/** Every upstream is away for a while: what is known is served on, what is not is an error, and then it goes on. */
export async function outage({ checks, seed, full }: Scene): Promise<void> {
  await using chain = await LiveChain.start(seed, 10, { archive: true });
  await using first = await startLyingProxy(chain.node.url);
  await using second = await startLyingProxy(chain.node.url);
  await using data = await tempDir('outage');
  const anchor = chain.head.number;
  const options = {
    dataDir: data.path,
    upstreams: [first.url, second.url],
    rules: chain.node.genesisFile,
    more: ['--state-timeout-ms', '1000', '--ready-upstream-ms', '2000'],
  };
  await using steady = await follow(options);
  await chain.grow(5);
  await untilHead(steady, chain.head.hash);
  const last = chain.head;

  const requests = new Requests(chain, new Random(seed, 1), anchor);
  const known: Asked[] = [];
  for (let left = 60; left > 0; left -= 1) {
    const asked = requests.next();
    const { answers } = await exchange(steady.url, [asked]);
    const [answer] = answers;
    if (answer !== undefined && !('error' in answer && [-32001, -32002].includes(answer.error.code)))
      known.push(asked);
  }
  const lengthMs = full ? 60_000 : 6_000;
  await Promise.all([first.down(), second.down()]);
  const downAt = performance.now();
  await chain.grow(5);
  const during: Exchange[] = [];
  const unknown: string[] = [];
  let slowest = 0;
  for (let round = 0; performance.now() - downAt < lengthMs; round += 1) {
    for (const asked of known) {
      const started = performance.now();
      during.push(await exchange(steady.url, [asked]));
      slowest = Math.max(slowest, performance.now() - started);
    }
    const stranger = `0x${(round + 1).toString(16).padStart(40, '7')}`;
    const answer = await send(steady.url, {
      method: 'eth_getTransactionCount',
      params: [stranger, 'latest'],
    });
    unknown.push('error' in answer ? String(answer.error.code) : `answered ${brief(answer)}`);
    await pause(full ? 500 : 50);
  }
  const state = await readiness(steady);
  checks.check(
    '/readyz says 503 and why',
    state.status === 503 && (state.reasons ?? []).some(({ reason }) => reason === 'upstream'),
    state,
  );
  checks.check(
    'unknown state is an error',
    unknown.length > 0 && unknown.every((code) => code === '-32002'),
    unknown,
  );
  checks.check(
    'known state is of the last head',
    during.every(({ head }) => head?.hash === last.hash),
  );
  say(
    `down for ${seconds(downAt)}; /readyz: ${brief(state.reasons)}; ${unknown.length} questions about unknown state refused`,
  );

  await steady.stop();
  await using ours = await follow(options);
  const restarted = await Promise.all(known.map((asked) => exchange(ours.url, [asked])));
  const lost = known.filter((_, at) => !isDeepStrictEqual(restarted[at]?.answers, during[at]?.answers));
  checks.check('it starts without any upstream, and serves what it knew', lost.length === 0, brief(lost));

  const upAt = performance.now();
  await Promise.all([first.up(), second.up()]);
  await untilHead(ours, chain.head.hash, 60_000);
  say(`caught up ${seconds(upAt)} after the upstreams were back`);
  await until('our node to be ready', async () => ((await readiness(ours)).ready ? true : undefined));
  say(`ready ${seconds(upAt)} after`);
  const stranger = { method: 'eth_getTransactionCount', params: [`0x${'7'.repeat(39)}1`, 'latest'] };
  checks.check(
    'what was unknown is found',
    isDeepStrictEqual(await send(ours.url, stranger), await send(chain.node.url, stranger)),
  );
  const after = await Promise.all(known.map((asked) => exchange(ours.url, [asked])));
  const { answers, equal, errors, wrong } = await judge([...during, ...restarted, ...after], chain, anchor);
  say(
    `${equal} of ${answers} answers to known questions equal the upstream's, slowest ${slowest.toFixed(0)} ms; errors: ${describeErrors(errors)}`,
  );
  checks.check(
    'known state is served right',
    wrong.length === 0 && errors.size === 0,
    brief(wrong.slice(0, 3)),
  );
}
