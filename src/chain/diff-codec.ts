import type { StateDiff } from './diff.ts';
import { NativeWriter } from './native-writer.ts';

/** Writes a state diff as the native core does; `decodeDiff` reads it. */
export function encodeDiff({ wiped, accounts, slots, codes }: StateDiff): Uint8Array {
  const out = new NativeWriter();
  out.list(wiped, (address) => out.raw(address));
  out.list(accounts, ([address, value]) => {
    out.raw(address);
    out.bytes(value);
  });
  out.list(slots, ([address, slot, value]) => {
    out.raw(address);
    out.raw(slot);
    out.bytes(value);
  });
  out.list(codes, ([hash, code]) => {
    out.raw(hash);
    out.bytes(code);
  });
  return out.finish();
}
