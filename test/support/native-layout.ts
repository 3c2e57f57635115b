import { NativeWriter } from '../../src/chain/native-writer.ts';

/** Writes the native core's layout. */
export function encode(write: (out: NativeWriter) => void): Uint8Array {
  const out = new NativeWriter();
  write(out);
  return out.finish();
}
