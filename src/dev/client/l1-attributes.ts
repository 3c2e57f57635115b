import { createHash } from 'node:crypto';
import type { Hex } from '../../primitives/hex.ts';

/** Who sends the L1 attributes, and only those. */
export const DEPOSITOR = '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001';
const L1_BLOCK = '4200000000000000000000000000000000000015';

/**
 * The first transaction of a block: `setL1BlockValuesJovian` of an L1 that costs nothing. Every field has a fixed
 * length, so its RLP is a form to fill in.
 */
export function l1AttributesDeposit(number: number, timestamp: number): Hex {
  const source = createHash('sha256').update(`block ${number}`).digest('hex');
  const data = [
    '3db6be2b',
    // The scalars of both fees, and the sequence number.
    field(0, 4) + field(0, 4) + field(0, 8),
    field(timestamp, 8) + field(number, 8),
    // Both base fees, the hash and the batcher.
    field(0, 32) + field(0, 32) + source + field(0, 32),
    // Operator fee scalar and constant, DA footprint scalar.
    field(0, 4) + field(0, 8) + field(0, 2),
  ].join('');
  const [noMint, noValue, notSystem] = ['80', '80', '80'];
  const gas = '830f4240';
  return `0x7ef90106a0${source}94${DEPOSITOR.slice(2)}94${L1_BLOCK}${noMint}${noValue}${gas}${notSystem}b8b2${data}`;
}

function field(value: number, bytes: number): string {
  return value.toString(16).padStart(bytes * 2, '0');
}
