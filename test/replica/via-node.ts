import { setTimeout as pause } from 'node:timers/promises';
import { startGate } from '../support/proxies/gate.ts';
import type { WorkloadChain } from '../support/servers/chains.ts';
import { until } from '../support/servers/process.ts';
import { type Replica, startReplica } from './ours.ts';

/**
 * Our node, which follows another one of ours, which follows the chain:
 *
 *   chain -> first -> second, which is the replica
 *         -> gate  ->
 *
 * For the first half the gate is closed, and all that the second has is from the first. Then it has both, and then the
 * first is killed.
 */
export interface ViaNode extends Replica {
  /** Told how high the chain is by now, and what share of all blocks that is. */
  progress(head: number, share: number): Promise<void>;
  /** What is wrong with how it went. */
  judge(): readonly string[];
  /** Milliseconds from the kill until the second has a block that was made after it. */
  readonly headAfterKillMs: number | undefined;
}

const openShare = 0.5;
const killShare = 0.6;
/** So many blocks have come both ways when the first is killed. */
const sharedBlocks = 5;

export async function startViaNode(chain: WorkloadChain, options: readonly string[]): Promise<ViaNode> {
  await using starting = new AsyncDisposableStack();
  const first = starting.use(await startReplica(chain, options));
  const gate = starting.use(await startGate(chain.ws));
  const second = starting.use(
    await startReplica(chain, options, [first.url.replace('http', 'ws'), gate.url]),
  );
  const resources = starting.move();
  let headAfterKillMs: number | undefined;
  let isKilled = false;
  let passedBefore = 0;
  let passedAt: number | undefined;
  const watchHead = async (before: number): Promise<void> => {
    const killed = performance.now();
    while ((await second.head()).number <= before) await pause(5);
    headAfterKillMs = performance.now() - killed;
  };
  let watching: Promise<void> = Promise.resolve();
  return {
    ...second,
    output: () => `${second.output()}\n-- the first one:\n${first.output()}`,
    died: Promise.race([second.died, first.died]),
    async progress(head, share) {
      if (!gate.open && share >= openShare) {
        passedBefore = gate.passed;
        gate.open = true;
        // It tried that way less and less often while it was closed: the chain waits, else it may end before the next try.
        await until(
          'the second node to take the way past the first',
          () => gate.passed > passedBefore || undefined,
        );
        passedAt = head;
      }
      if (isKilled || share < killShare || head < (passedAt ?? head) + sharedBlocks) return;
      isKilled = true;
      await first.kill();
      watching = watchHead(head).catch(() => undefined);
    },
    judge: () => [
      ...(isKilled ? [] : ['the first node was never killed']),
      ...(passedBefore > 0 ? ['the chain was reached past the first node'] : []),
      ...(headAfterKillMs === undefined ? ['no block came after the kill'] : []),
    ],
    get headAfterKillMs() {
      return headAfterKillMs;
    },
    async [Symbol.asyncDispose]() {
      await resources.disposeAsync();
      await watching;
    },
  };
}
