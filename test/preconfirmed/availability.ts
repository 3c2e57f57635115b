import { setTimeout as pause } from 'node:timers/promises';
import type { Workload } from '../support/workload/workload.ts';
import { planBlock } from './plan.ts';
import type { PreconfirmedRig } from './rig.ts';
import { Asker } from './scenarios/asking.ts';

/** Time between flashblocks: half of a real builder's. */
const flashblockMs = 100;
/** Time between two looks. */
const lookMs = 3;
const question = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}';

export interface Availability {
  /** Share of the time in which `pending` was of pre-confirmed state. */
  readonly live: number;
  readonly seconds: number;
  readonly looks: number;
}

/**
 * How much of the time there is pre-confirmed state, on a stream without faults at the pace of a builder: index 0 of each
 * block comes one or two flashblocks before the block below is sealed, as on real chains.
 */
export async function measureAvailability(
  rig: PreconfirmedRig,
  { seed, workload, blocks }: { readonly seed: number; readonly workload: Workload; readonly blocks: number },
): Promise<Availability> {
  const { events } = rig;
  using asker = new Asker(rig.ours.url);
  const first = Promise.withResolvers<string>();
  let due = performance.now();
  rig.events = {
    published: async ({ message }) => {
      first.resolve(`${message.metadata.block_number};${message.index}`);
      due = Math.max(due + flashblockMs, performance.now());
      await pause(Math.max(0, due - performance.now()));
    },
  };
  const over = new AbortController();
  let [began, last, without, looks] = [0, 0, 0, 0];
  const watch = async (): Promise<void> => {
    await asker.ask(question, await first.promise);
    began = last = performance.now();
    while (!over.signal.aborted) {
      const { named } = await asker.ask(question);
      const now = performance.now();
      looks += 1;
      if (named.pending === 'none') without += now - last;
      last = now;
      await pause(lookMs);
    }
  };
  const watching = watch();
  try {
    for (let at = 0; at < blocks; at += 1) {
      const { plan } = await planBlock(seed, at, workload);
      await rig.block(plan, { early: true, sealAfter: 1 + (at % 2) });
    }
  } catch (error) {
    first.resolve('');
    throw error;
  } finally {
    over.abort();
    await watching;
    rig.events = events;
  }
  const all = last - began;
  return { live: 1 - without / all, seconds: all / 1_000, looks };
}
