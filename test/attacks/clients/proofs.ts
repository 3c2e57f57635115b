import { randomBytes } from 'node:crypto';
import { rpc, type Target } from '../target.ts';
import type { ListPlace } from './long-calls.ts';

/** Proofs of as many slots as one may have, of one block after another. */
export async function provenSlots(target: Target, { list, block }: ListPlace): Promise<void> {
  const slots = Array.from({ length: 1_024 }, () => `0x${randomBytes(32).toString('hex')}`);
  let next = 0;
  await target.repeat(50, () =>
    rpc('eth_getProof', [list, slots, `0x${(Number(block) + (next++ % 8)).toString(16)}`]),
  );
}

/** Proofs of states that are far from each other, each of which has to be made from all of it; many are not waited for. */
export async function provenStates(target: Target, { list, block }: ListPlace): Promise<void> {
  const slots = Array.from({ length: 1_024 }, () => `0x${randomBytes(32).toString('hex')}`);
  let next = target.seed;
  const bodyOf = (count: number): string => {
    next += 17;
    const number = next % (Number(block) + 1);
    return rpc('eth_getProof', [list, slots.slice(0, count), `0x${number.toString(16)}`]);
  };
  await target.abandon(20, 0.4, () => bodyOf(16));
  await target.repeat(30, () => bodyOf(slots.length));
}
