import { setTimeout as pause } from 'node:timers/promises';
import { brief, type Scene, say, seconds } from '../../support/checks.ts';
import { startLyingProxy } from '../../support/lies/proxy.ts';
import { follow, readiness, untilHead, writes } from '../../support/servers/our-node.ts';
import { tempDir, until } from '../../support/servers/process.ts';
import { AnvilChain } from '../anvil-chain.ts';
import { HeadsServed } from '../heads-served.ts';
import { IMPATIENT } from './leaders.ts';

/** An outage, and then nobody has the state of our head: the copy is kept for as long as that may pass. */
export async function hopeless({ checks }: Scene): Promise<void> {
  await using chain = await AnvilChain.start();
  await chain.mine(5);
  await using first = await startLyingProxy(chain.url);
  await using second = await startLyingProxy(chain.url);
  await using data = await tempDir('hopeless');
  const base = { dataDir: data.path, upstreams: [first.url, second.url], rules: 'anvil' };
  const both = [first, second];
  const began = 'a new copy begins';
  {
    await using ours = await follow({ ...base, more: IMPATIENT });
    const last = await chain.mineTransfer();
    await untilHead(ours, last.hash);
    await Promise.all(both.map((proxy) => proxy.down()));
    for (let left = 3; left > 0; left -= 1) await chain.mineTransfer();
    await pause(1_500);
    await using served = new HeadsServed(ours);
    for (const proxy of both) proxy.isPruned = true;
    await Promise.all(both.map((proxy) => proxy.up()));
    const state = await until('/readyz to say why', async () => {
      const now = await readiness(ours);
      return brief(now.reasons ?? []).includes('state is not available') ? now : undefined;
    });
    await pause(4_000);
    say(`nobody has the state of our head: ${brief(state.reasons)}`);
    checks.check('it serves what it has', [...served.heads.keys()].join() === last.hash, [...served.heads]);
    second.isPruned = false;
    const upAt = performance.now();
    await untilHead(ours, (await chain.head()).hash, 15_000);
    say(`one has it again: at the head after ${seconds(upAt)}`);
    const output = ours.running.output();
    checks.check('the copy was kept', output.split(began).length === 2, output.slice(-1000));
    await until('our node to be ready', async () => ((await readiness(ours)).ready ? true : undefined));
  }
  // One that has the state is enough, however short the time.
  const more = [...IMPATIENT, '--reanchor-after', '1500ms'];
  await using ours = await follow({ ...base, more });
  for (const proxy of both) proxy.isPruned = proxy === first;
  for (let left = 4; left > 0; left -= 1) {
    await untilHead(ours, (await chain.mineTransfer()).hash, 10_000);
    await pause(600);
  }
  checks.check(
    'one says so and the other does not: the copy is kept',
    !ours.running.output().includes(began),
  );
  second.isPruned = true;
  const goneAt = performance.now();
  const { hash } = await chain.mineTransfer();
  await untilHead(ours, hash, 20_000);
  const ms = performance.now() - goneAt;
  checks.check('all say so for long enough: it re-anchors, loudly', await writes(ours.running, began));
  checks.check('and not before', ms >= 1_500, ms);
  say(`nobody has it for good: re-anchored after ${seconds(goneAt)} (--reanchor-after 1500ms)`);
}
