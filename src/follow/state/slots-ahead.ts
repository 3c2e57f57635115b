import type { Outcome } from '../../chain/outcome.ts';
import type { StateKey } from '../../chain/state-key.ts';
import { fromHex } from '../../primitives/hex.ts';

/** Contracts that each block writes at its start (EIP-4788, EIP-2935), in rings of slots. */
const BEACON_ROOTS = fromHex('0x000f3df6d732807ef1319fb7b8bb8522d0beac02');
const BLOCK_HASHES = fromHex('0x0000f90827f1c53a10cb7a02335b175320002935');
const RING = 8_191;
/** The block after the next may be pre-confirmed before the next is sealed. */
const BLOCKS_AHEAD = 2;

/**
 * What the blocks after this one will write at their start, if time goes on as it did. A ring comes round to a slot that
 * nobody has read for hours: read ahead, no block has to wait for it.
 */
export function slotsAhead(
  { number, timestamp, diff }: Pick<Outcome, 'number' | 'timestamp' | 'diff'>,
  secondsPerBlock: number,
): readonly StateKey[] {
  const isWritten = (contract: Uint8Array): boolean =>
    diff.slots.some(([address]) => Buffer.compare(address, contract) === 0);
  const [hasRoots, hasHashes] = [isWritten(BEACON_ROOTS), isWritten(BLOCK_HASHES)];
  const keys: StateKey[] = [];
  for (let ahead = 1; ahead <= BLOCKS_AHEAD; ahead++) {
    if (hasHashes) keys.push(slotOf(BLOCK_HASHES, (number + ahead - 1) % RING));
    const place = (timestamp + ahead * secondsPerBlock) % RING;
    if (hasRoots) keys.push(slotOf(BEACON_ROOTS, place), slotOf(BEACON_ROOTS, place + RING));
  }
  return keys;
}

function slotOf(address: Uint8Array, place: number): StateKey {
  const slot = new Uint8Array(32);
  new DataView(slot.buffer).setUint32(28, place);
  return { kind: 'slot', address, slot };
}
