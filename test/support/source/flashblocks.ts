import { createHash } from 'node:crypto';
import type { Hex } from '../../../src/primitives/hex.ts';
import { toQuantity } from '../../../src/primitives/parse.ts';
import { decodeFlashblock } from '../../../src/source/flashblocks/decode.ts';
import type { Flashblock } from '../../../src/source/flashblocks/flashblock.ts';
import { DEFAULT_FLASHBLOCK_OPTIONS } from '../../../src/source/flashblocks/options.ts';

/** 32 bytes that stand for a name. */
export const hashOf = (name: string): Hex => `0x${createHash('sha256').update(name).digest('hex')}`;

export interface Made {
  readonly number: number;
  readonly index: number;
  /** Which attempt at the block this is of. */
  readonly attempt?: string;
  /** What the block stands on: the last flashblock of another, by name; the one below of `size` when left out. */
  readonly parent?: Hex;
  /** Another content under the same name. */
  readonly twist?: string;
  /** How its builder tells of hashes: `real` when left out, of a header without a state root, or not at all. */
  readonly form?: 'real' | 'zero-root' | 'absent';
}

const ZERO: Hex = `0x${'0'.repeat(64)}`;

/** How many flashblocks a block of an honest sequence has. */
export const BLOCK_SIZE = 4;

export const hashAfter = (number: number, index = BLOCK_SIZE - 1, attempt = ''): Hex =>
  hashOf(`block ${number} ${attempt} ${index}`);

function blockHashOf(form: Made['form'], hash: Hex): Hex {
  if (form === 'absent') return ZERO;
  return form === 'zero-root' ? hashOf(`without a root ${hash}`) : hash;
}

/** A message as builders send it. */
export function wireMessage({
  number,
  index,
  attempt = '',
  parent,
  twist = '',
  form = 'real',
}: Made): Record<string, unknown> {
  return {
    payload_id: hashOf(`payload ${number} ${attempt}`).slice(0, 18),
    index,
    ...(index === 0
      ? {
          base: {
            parent_beacon_block_root: hashOf('beacon'),
            parent_hash: parent ?? hashAfter(number - 1),
            fee_recipient: `0x${'11'.repeat(20)}`,
            prev_randao: hashOf('randao'),
            block_number: toQuantity(number),
            gas_limit: '0x3938700',
            timestamp: toQuantity(1_700_000_000 + 2 * number),
            extra_data: '0x01000000fa000000060000000000000000',
            base_fee_per_gas: '0x3b9aca00',
          },
        }
      : {}),
    diff: {
      state_root: form === 'real' ? hashOf(`state ${number} ${index} ${twist}`) : ZERO,
      receipts_root: hashOf('receipts'),
      logs_bloom: `0x${'00'.repeat(256)}`,
      gas_used: '0x5208',
      block_hash: blockHashOf(form, hashAfter(number, index, attempt)),
      transactions: ['0x7e01', `0x02ff${twist === '' ? '' : '01'}`],
      withdrawals: [],
      withdrawals_root: form === 'absent' ? ZERO : hashOf('withdrawals'),
    },
    metadata: { block_number: number, receipts: { ignored: true } },
  };
}

export function makeFlashblock(made: Made): Flashblock {
  const decoded = decodeFlashblock(JSON.stringify(wireMessage(made)), DEFAULT_FLASHBLOCK_OPTIONS.stream);
  if (!decoded.ok) throw decoded.error;
  return decoded.flashblock;
}
