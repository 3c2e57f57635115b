import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { StateKey } from '../../chain/state-key.ts';
import { fromHex } from '../../primitives/hex.ts';
import type { BlockLogs } from '../interface.ts';

/** The value of a key where blocks changed it last; `chain` has all blocks, in any order. */
export function valueIn(
  newestFirst: readonly Outcome[],
  chain: readonly Outcome[],
  key: StateKey,
): Uint8Array | undefined {
  if (key.kind === 'code') {
    // Code is named by its hash: when it appeared does not matter.
    for (const { diff } of chain)
      for (const [hash, code] of diff.codes) if (same(hash, key.hash)) return code;
    return undefined;
  }
  for (const { number, hash, diff } of newestFirst) {
    if (key.kind === 'blockHash') {
      if (number === key.number) return fromHex(hash);
    } else if (key.kind === 'account') {
      for (const [address, value] of diff.accounts) if (same(address, key.address)) return value;
    } else {
      for (const [address, slot, value] of diff.slots) {
        if (same(address, key.address) && same(slot, key.slot)) return value;
      }
      if (includes(diff.wiped, key.address)) return new Uint8Array(0);
    }
  }
  return undefined;
}

/** The logs of a block, as the store gives them. */
export function logsOf(outcome: Outcome): BlockLogs {
  const { number, hash, timestamp, timestampMs, logs, receipts } = outcome;
  return {
    number,
    hash,
    timestamp,
    timestampMs,
    length: logs.length,
    log(index) {
      const log = logs[index];
      if (!log) throw new RangeError(`no log ${index} in block ${number}`);
      return log;
    },
    transactionHash(transactionIndex) {
      const receipt = receipts[transactionIndex];
      if (!receipt) throw new RangeError(`no transaction ${transactionIndex} in block ${number}`);
      return receipt.transactionHash;
    },
  };
}

/** A block of which no state is kept. */
export function withoutDiff(outcome: Outcome): Outcome {
  return { ...outcome, diff: { wiped: [], accounts: [], slots: [], codes: [] } };
}

/** The name of a block. */
export function refOf({ number, hash }: Outcome): BlockRef {
  return { number, hash };
}

/** Whether one of these is equal. */
export function includes(values: readonly Uint8Array[], value: Uint8Array): boolean {
  return values.some((candidate) => same(candidate, value));
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
