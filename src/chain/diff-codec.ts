import type { StateDiff } from './diff.ts';

/** Writes a state diff as the native core does: little-endian lengths and raw bytes; `decodeDiff` reads it. */
export function encodeDiff({ wiped, accounts, slots, codes }: StateDiff): Buffer {
  return Buffer.concat([
    u32(wiped.length),
    ...wiped,
    u32(accounts.length),
    ...accounts.flatMap(([address, value]) => [address, u32(value.length), value]),
    u32(slots.length),
    ...slots.flatMap(([address, slot, value]) => [address, slot, u32(value.length), value]),
    u32(codes.length),
    ...codes.flatMap(([hash, code]) => [hash, u32(code.length), code]),
  ]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
