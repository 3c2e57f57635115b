import { isDeepStrictEqual } from 'node:util';
import { brief, type Scene, say, seconds } from '../../support/checks.ts';
import { startLyingProxy } from '../../support/lies/proxy.ts';
import { follow, readiness, total, untilHead, writes } from '../../support/servers/our-node.ts';
import { tempDir, until } from '../../support/servers/process.ts';
import { send } from '../../support/servers/rpc-client.ts';
import { LiveChain } from '../live-chain.ts';
import { sealWithLogs } from './lies.ts';

/** What is taken on trust without --verify-state, and what comes out all the same because a block does not verify. */
export async function trust({ checks, seed }: Scene): Promise<void> {
  await using chain = await LiveChain.start(seed, 8);
  const counter = chain.workload.addressOf('Counter');
  for (const alone of [false, true]) await phantomHead(chain, alone, checks);
  const read = { method: 'eth_getStorageAt', params: [counter, '0x0', 'latest'] };

  for (const kind of ['a request', 'a block'] as const) {
    await using liar = await startLyingProxy(chain.node.url);
    await using data = await tempDir('trust');
    await using ours = await follow({
      dataDir: data.path,
      upstreams: [liar.url],
      rules: chain.node.genesisFile,
      more: ['--upstream-demotion-ms', '1000'],
    });
    await chain.growEmpty(1);
    await untilHead(ours, chain.head.hash);
    liar.lie = { about: 'storage' };
    if (kind === 'a request') {
      const answer = await send(ours.url, read);
      const isTrue = isDeepStrictEqual(answer, await send(chain.node.url, read));
      const lies = await total(ours, 'chain_query_upstream_lies_total');
      say(
        `storage lied about to a request, without --verify-state: ${isTrue ? 'the answer is right' : 'the answer is wrong'}, ${lies} lies found`,
      );
      checks.check('without --verify-state a lie told to a request is believed', !isTrue && lies === 0);
      // The false value is held from here on, until a block that reads it does not verify.
      liar.lie = undefined;
    }
    await sealWithLogs(chain, counter);
    const isFound =
      kind === 'a request'
        ? () => Promise.resolve(ours.running.output().includes('is proven false'))
        : async () => (await total(ours, 'chain_query_upstream_lies_total')) > 0;
    const found = await until(
      'the block to be refused',
      async () => ((await isFound()) ? true : undefined),
      15_000,
    ).catch(() => false);
    checks.check(`a storage lie told to ${kind} is found out by the block that reads it`, found);
    const state = await readiness(ours);
    if (kind === 'a block') checks.check('/readyz says 503', state.status === 503, state);
    say(`storage lied about to ${kind}, then read by a block: ${state.status} ${brief(state.reasons ?? [])}`);
    liar.lie = undefined;
    const truthAt = performance.now();
    try {
      await untilHead(ours, chain.head.hash, 25_000);
      say(`back ${seconds(truthAt)} after the truth`);
      const [mine, theirs] = await Promise.all([send(ours.url, read), send(chain.node.url, read)]);
      checks.check('it recovers by itself, and then answers right', isDeepStrictEqual(mine, theirs), mine);
      const times = kind === 'a request' ? 2 : 1;
      const began = await writes(ours.running, 'a new copy begins', times);
      const more = ours.running.output().split('a new copy begins').length - 1 > times;
      checks.check(
        'only a copy that holds a lie re-anchors',
        began && !more,
        ours.running.output().slice(-1500),
      );
    } catch (error) {
      checks.check(
        `it recovers by itself after a lie told to ${kind}`,
        false,
        error instanceof Error ? error.message.slice(0, 2500) : error,
      );
    }
  }
}

/** A head that nobody built cannot be called a lie: it may only not be here yet. It must not hold anything up. */
async function phantomHead(chain: LiveChain, alone: boolean, checks: Scene['checks']): Promise<void> {
  await using liar = await startLyingProxy(chain.node.url);
  await using honest = await startLyingProxy(chain.node.url);
  await using data = await tempDir('phantom');
  await using ours = await follow({
    dataDir: data.path,
    upstreams: alone ? [liar.url] : [liar.url, honest.url],
    rules: chain.node.genesisFile,
    // By number it gives blocks that do not fit their hash: that is a lie.
    more: ['--upstream-demotion-ms', '1000'],
  });
  await chain.growEmpty(1);
  await untilHead(ours, chain.head.hash);
  liar.lie = { about: 'header', field: 'hash' };
  const started = performance.now();
  await chain.growEmpty(2);
  if (alone) {
    const state = await until('/readyz to say 503', async () => {
      const now = await readiness(ours);
      return now.status === 503 ? now : undefined;
    }).catch(() => undefined);
    checks.check('/readyz says that the head named cannot be had', state !== undefined);
    say(`a head that does not exist, alone: ${brief(state?.reasons ?? [])}`);
    liar.lie = undefined;
  }
  const truthAt = performance.now();
  await untilHead(ours, chain.head.hash, 40_000);
  const after = alone
    ? `back ${seconds(truthAt)} after the truth`
    : `at the real one after ${seconds(started)}`;
  say(`a head that does not exist, ${alone ? 'alone' : 'beside an honest upstream'}: ${after}`);
  checks.check('it reaches the real head', true);
}
