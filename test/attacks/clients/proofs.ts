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
