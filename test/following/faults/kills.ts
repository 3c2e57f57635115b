import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { brief, type Scene, say } from '../../support/checks.ts';
import { Random } from '../../support/random.ts';
import { boundAddresses } from '../../support/servers/node.ts';
import { launch, untilHead, whereItListens } from '../../support/servers/our-node.ts';
import { tempDir } from '../../support/servers/process.ts';
import { type Answer, request, send } from '../../support/servers/rpc-client.ts';
import { describeErrors, judge } from '../judge.ts';
import { LiveChain } from '../live-chain.ts';
import { type Exchange, exchange, Requests, traffic } from '../traffic.ts';

/** Ends our node without warning again and again while it follows and serves: nothing that was served is lost. */
export async function kills({ checks, seed, full }: Scene): Promise<void> {
  const random = new Random(seed, 2);
  const count = full ? 20 : 6;
  await using chain = await LiveChain.start(seed, 6, { archive: true });
  const anchor = chain.head.number;
  await using data = await tempDir('kills');
  await using ports = await tempDir('ports');
  const portFile = join(ports.path, 'ports.json');
  const stop = new AbortController();
  const growing = grow(chain, random, stop.signal);
  const all: Exchange[] = [];
  let servedKills = 0;
  let broken = 0;
  const noteBroken = (): void => {
    broken += 1;
  };
  const options = {
    dataDir: data.path,
    upstreams: [chain.node.ws],
    rules: chain.node.genesisFile,
    more: ['--anchor', String(anchor), '--pin-delay-ms', '50'],
  };
  try {
    for (let kill = 1; kill <= count; kill += 1) {
      await rm(portFile, { force: true });
      await using running = launch(options, portFile);
      // Half of the kills come while it starts or has just begun to serve.
      const startsFirst = random.chance(0.8);
      if (!startsFirst) await pause(random.below(1_500));
      else {
        const node = whereItListens(running, await boundAddresses(running, portFile));
        await nothingLost(node.url, all, chain, checks.check.bind(checks));
        const quiet = new AbortController();
        const answering = traffic(
          chain,
          () => node.url,
          { clients: 2, seed: seed + kill, lowest: anchor, pauseMs: 5, onBroken: noteBroken },
          quiet.signal,
        );
        // The random moment is the test itself, not a way to wait for something.
        await pause(random.below(1_200));
        running.signal('SIGKILL');
        quiet.abort();
        const exchanges = await answering;
        all.push(...exchanges);
        servedKills += exchanges.length > 0 ? 1 : 0;
      }
      running.signal('SIGKILL');
      await running.exited;
    }
  } finally {
    stop.abort();
    await growing;
  }
  await rm(portFile, { force: true });
  await using running = launch(options, portFile);
  const node = whereItListens(running, await boundAddresses(running, portFile));
  await nothingLost(node.url, all, chain, checks.check.bind(checks));
  const started = performance.now();
  await untilHead(node, chain.head.hash, 60_000);
  say(
    `${count} kills, ${servedKills} of them while it served; ${broken} requests cut off; then ${((performance.now() - started) / 1000).toFixed(2)} s to the head ${chain.head.number}`,
  );
  const filter = [{ fromBlock: `0x${anchor.toString(16)}`, toBlock: 'latest' }];
  const [logs, theirs] = await Promise.all([
    request<readonly unknown[]>(node.url, 'eth_getLogs', filter),
    request<readonly unknown[]>(chain.node.url, 'eth_getLogs', filter),
  ]);
  checks.check(
    `all ${theirs.length} logs since the anchor are the same`,
    theirs.length > 0 && isDeepStrictEqual(logs, theirs),
    logs.length,
  );
  const requests = new Requests(chain, random, anchor);
  const sampled: Exchange[] = [];
  for (let left = 150; left > 0; left -= 1) sampled.push(await exchange(node.url, [requests.next()]));
  const { answers, equal, errors, wrong } = await judge([...all, ...sampled], chain, anchor);
  say(`${equal} of ${answers} answers equal the upstream's; errors: ${describeErrors(errors)}`);
  checks.check('every answer is of the snapshot it names', wrong.length === 0, brief(wrong.slice(0, 3)));
  checks.check('it began once', !running.output().includes('a new copy begins'));
}

/** Grows the chain, with a small reorg now and then. */
async function grow(chain: LiveChain, random: Random, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (random.chance(0.06)) await chain.reorg(random.between(1, 3));
    else await chain.grow(1);
    await pause(100);
  }
}

/** Every head that was served is held still, unless the upstream itself left it. */
async function nothingLost(
  url: string,
  all: readonly Exchange[],
  chain: LiveChain,
  check: (what: string, holds: boolean, detail?: unknown) => void,
): Promise<void> {
  const heads = new Map(all.flatMap(({ head }) => (head === undefined ? [] : [[head.hash, head] as const])));
  const lost: unknown[] = [];
  for (const { hash, number } of heads.values()) {
    const block = { blockHash: hash, requireCanonical: true };
    const answer: Answer = await send(url, {
      method: 'eth_getStorageAt',
      params: ['0x4200000000000000000000000000000000000015', '0x0', block],
    });
    const left = chain.ancestor(chain.head.hash, number) !== hash;
    if ('error' in answer && !left) lost.push({ number, hash, answer });
  }
  check(`all ${heads.size} heads served before are held`, lost.length === 0, lost.slice(0, 3));
}
