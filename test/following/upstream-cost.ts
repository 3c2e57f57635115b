import { setTimeout as pause } from 'node:timers/promises';
import { encodeFunctionData } from 'viem';
import { type Scene, say } from '../support/checks.ts';
import { startLyingProxy } from '../support/lies/proxy.ts';
import { follow, total, untilHead } from '../support/servers/our-node.ts';
import { tempDir } from '../support/servers/process.ts';
import { send } from '../support/servers/rpc-client.ts';
import { workloadContracts } from '../support/workload/contracts.ts';
import { LiveChain } from './live-chain.ts';

/** What following and serving cost the upstream, in requests and in calls. */
export async function upstreamCost({ checks, seed, full }: Scene): Promise<void> {
  await using chain = await LiveChain.start(seed, 30);
  for (const transport of ['ws', 'http'] as const) {
    await using proxy = await startLyingProxy(chain.node.url);
    await using data = await tempDir('cost');
    const pollMs = 500;
    await using ours = await follow({
      dataDir: data.path,
      upstreams: [transport === 'ws' ? chain.node.ws : proxy.url],
      rules: chain.node.genesisFile,
      pollMs,
      // Looked at by the clock, not by the block.
      more: ['--finality-ms', '3600000'],
    });
    await untilHead(ours, chain.head.hash);
    const counts = async (): Promise<{ requests: number; calls: number }> => ({
      requests: await total(ours, 'chain_query_upstream_requests_total'),
      calls: await total(ours, 'chain_query_upstream_calls_total'),
    });
    // The first blocks after the anchor bring state that is then known.
    await chain.grow(10);
    await untilHead(ours, chain.head.hash);
    for (const kind of ['workload', 'empty'] as const) {
      const before = await counts();
      const blocks = full ? 60 : 12;
      const started = performance.now();
      for (let left = blocks; left > 0; left -= 1) {
        await (kind === 'empty' ? chain.growEmpty(1) : chain.grow(1));
        await untilHead(ours, chain.head.hash);
      }
      const after = await counts();
      const polls = transport === 'http' ? (performance.now() - started) / pollMs : 0;
      const perBlock = (of: 'requests' | 'calls'): string => ((after[of] - before[of]) / blocks).toFixed(2);
      say(
        `${transport}, ${kind} blocks: ${perBlock('requests')} requests and ${perBlock('calls')} calls a block` +
          (transport === 'http' ? ` (about ${(polls / blocks).toFixed(1)} polls a block among them)` : ''),
      );
      if (kind === 'empty') {
        const made = after.requests - before.requests - polls;
        // A poll now and then is counted as a request: how many there were is known by the clock only.
        checks.check(
          `${transport}: an empty block costs one request, and the ring slots of many blocks another`,
          made / blocks <= (transport === 'ws' ? 1.3 : 2),
          made / blocks,
        );
      }
    }
    const input = encodeFunctionData({
      abi: workloadContracts().Workshop.abi,
      functionName: 'view_',
      args: [3n],
    });
    const call = {
      method: 'eth_call',
      params: [{ to: chain.workload.addressOf('Workshop'), data: input }, 'latest'],
    };
    await send(ours.url, call);
    proxy.reset();
    const before = await counts();
    for (let left = 200; left > 0; left -= 1) await send(ours.url, call);
    await pause(100);
    const after = await counts();
    const others = [...proxy.forwarded].filter(([method]) => method !== 'eth_getBlockByNumber');
    const asked = transport === 'ws' ? after.requests - before.requests : others.length;
    say(`${transport}: ${asked} requests for 200 repeated calls`);
    checks.check(`${transport}: a repeated call asks nobody`, asked === 0, others);
  }
}
