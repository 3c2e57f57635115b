import { type Hex, keccak256, toHex } from 'viem';
import type { BlockPlan } from '../support/flashblocks/builder.ts';
import type { BlockFaults } from '../support/flashblocks/producer.ts';
import { Random } from '../support/random.ts';
import type { Workload } from '../support/workload/workload.ts';

export interface PlannedBlock {
  readonly plan: BlockPlan;
  readonly faults: BlockFaults;
}

/** No flashblock of this test has more transactions. */
const mostTransactions = 200;
const heavyShare = 0.05;

/** How many transactions each flashblock after index 0 has. */
function sizes(random: Random, isHeavy: boolean): readonly number[] {
  const light = (): number =>
    random.weighted([
      [3, () => 0],
      [6, () => random.between(1, 6)],
      [4, () => random.between(7, 20)],
    ]);
  if (!isHeavy) return random.list(random.between(5, 10), light);
  const heavy = random.pick([100, 150, mostTransactions, mostTransactions]);
  return [light(), heavy, light(), ...(random.chance(0.3) ? [mostTransactions] : []), light()];
}

/**
 * Block number `at` of a run: its transactions are what the workload thinks up, cut into flashblocks of random size;
 * its context is random too, so that an answer with another block's shows.
 */
export async function planBlock(
  seed: number,
  at: number,
  workload: Workload,
  earlyShare = 0.25,
): Promise<PlannedBlock> {
  const random = new Random(seed ^ 0x27d4eb2f, at);
  const isHeavy = random.chance(heavyShare);
  const counts = sizes(random, isHeavy);
  const total = counts.reduce((sum, count) => sum + count, 0);
  // Not every action makes a transaction; what is left over is not sent.
  const { deposits, transactions } = await workload.next(Math.ceil(total * 1.3));
  let from = 0;
  const parts = counts.map((count) => {
    const part = transactions.slice(from, from + count);
    from += count;
    return part;
  });
  return {
    plan: {
      deposits,
      parts,
      prevRandao: keccak256(toHex(`randao ${at} of ${seed}`)),
      ...(random.chance(0.5) ? { feeRecipient: random.hex(20) as Hex } : {}),
      gasLimit: BigInt(random.pick([150, 180, 200]) * (isHeavy ? 5_000_000 : 1_000_000)),
    },
    // On top of a block that is not sealed yet, for one flashblock or several.
    faults: random.chance(earlyShare) ? { early: true, sealAfter: random.between(1, 5) } : {},
  };
}
