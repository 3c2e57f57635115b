import type { StateDiff } from '../../src/chain/diff.ts';
import { NativeWriter } from '../../src/chain/native-writer.ts';

/** Writes the native core's layout. */
export function encode(write: (out: NativeWriter) => void): Uint8Array {
  const out = new NativeWriter();
  write(out);
  return out.finish();
}

/** A diff in that layout. */
export function encodeDiff({ wiped, accounts, slots, codes }: StateDiff): Uint8Array {
  return encode((out) => {
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
  });
}
