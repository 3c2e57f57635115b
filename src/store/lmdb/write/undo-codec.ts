import { ByteReader, ByteWriter } from '../../../chain/byte-codec.ts';
import type { StateDiff } from '../../../chain/diff.ts';

/** The keys under which one block wrote versions: what a revert deletes. */
export interface UndoKeys {
  readonly wiped: readonly Uint8Array[];
  readonly accounts: readonly Uint8Array[];
  /** Address ‖ slot. */
  readonly slots: readonly Uint8Array[];
  /** Hashes of code that no earlier block had stored. */
  readonly codes: readonly Uint8Array[];
}

/** Encodes what a revert of a block with this diff must delete. */
export function encodeUndo(diff: StateDiff, newCodes: readonly Uint8Array[]): Buffer {
  const out = new ByteWriter(64 + diff.accounts.length * 20 + diff.slots.length * 52);
  writeAll(out, diff.wiped);
  writeAll(
    out,
    diff.accounts.map(([address]) => address),
  );
  out.varint(diff.slots.length);
  for (const [address, slot] of diff.slots) {
    out.raw(address);
    out.raw(slot);
  }
  writeAll(out, newCodes);
  return out.finish();
}

/** Decodes what `encodeUndo` wrote. */
export function decodeUndo(bytes: Uint8Array): UndoKeys {
  const input = new ByteReader(bytes);
  const wiped = readAll(input, 20);
  const accounts = readAll(input, 20);
  const slots = readAll(input, 52);
  const codes = readAll(input, 32);
  input.end();
  return { wiped, accounts, slots, codes };
}

function writeAll(out: ByteWriter, items: readonly Uint8Array[]): void {
  out.varint(items.length);
  for (const item of items) out.raw(item);
}

function readAll(input: ByteReader, size: number): Uint8Array[] {
  return Array.from({ length: input.count(size) }, () => input.raw(size));
}
