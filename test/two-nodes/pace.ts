import { setTimeout as pause } from 'node:timers/promises';
import { planBlock } from '../preconfirmed/plan.ts';
import type { PreconfirmedRig } from '../preconfirmed/rig.ts';
import { FLASHBLOCK_MS } from '../support/flashblocks/producer.ts';
import { sendBatchNoting } from '../support/servers/rpc-client.ts';
import type { Fleet } from './fleet.ts';
import { LogKeeper } from './log-keeper.ts';

export interface Pace {
  /** How much later each pre-confirmed log came from the second node than from the first, ascending, in ms. */
  readonly laterMs: readonly number[];
  /** Reads that went to the two in turn, each with the point that the one before had named. */
  readonly reads: number;
  /** Those that were of an older point, or had no answer. */
  readonly backwards: readonly string[];
}

const atLeast = 'x-chain-at-least';

/** At the pace of a builder: how fresh the second node is, and whether who reads from both in turn ever reads backwards. */
export async function measurePace(
  rig: PreconfirmedRig,
  { first, second }: Fleet,
  { seed, blocks }: { readonly seed: number; readonly blocks: number },
): Promise<Pace> {
  using early = await LogKeeper.start(first.url, 'pendingLogs');
  using late = await LogKeeper.start(second.url, 'pendingLogs');
  let due = performance.now();
  const over = new AbortController();
  rig.events = {
    published: async () => {
      due = Math.max(due + FLASHBLOCK_MS, performance.now());
      await pause(Math.max(0, due - performance.now()));
    },
  };
  let reads = 0;
  const backwards: string[] = [];
  const balance = async (): Promise<void> => {
    let point = '';
    for (; !over.signal.aborted; reads += 1) {
      const { url } = reads % 2 === 0 ? first : second;
      const calls = [{ method: 'eth_blockNumber', params: [] }];
      const { answers, headers } = await sendBatchNoting(
        url,
        calls,
        point === '' ? {} : { [atLeast]: point },
      );
      const [head = ''] = (headers.get('x-chain-head') ?? '').split(';');
      const pending = headers.get('x-chain-pending') ?? 'none';
      const seen = pending === 'none' ? head : pending;
      const isAnswer = answers.every((answer) => 'result' in answer);
      if (!isAnswer || isBefore(seen, point)) backwards.push(`${seen} after ${point}`);
      else point = seen;
      await pause(20);
    }
  };
  const balancing = balance();
  try {
    for (let at = 0; at < blocks; at += 1) {
      const { plan } = await planBlock(seed, at, rig.workload);
      await rig.block(plan, { early: true, sealAfter: 1 + (at % 2) });
    }
    await rig.seal();
  } finally {
    over.abort();
    await balancing;
  }
  const laterMs = [...late.arrivals].flatMap(([key, at]) => {
    const before = early.arrivals.get(key);
    return before === undefined ? [] : [at - before];
  });
  return { laterMs: laterMs.toSorted((a, b) => a - b), reads, backwards };
}

/** Whether a point is of an older state; a block that is confirmed is newer than all of its flashblocks. */
function isBefore(one: string, other: string): boolean {
  const [number = 0, index = Number.POSITIVE_INFINITY] = one.split(';').map(Number);
  const [otherNumber = 0, otherIndex = Number.POSITIVE_INFINITY] = other.split(';').map(Number);
  return number < otherNumber || (number === otherNumber && index < otherIndex);
}
