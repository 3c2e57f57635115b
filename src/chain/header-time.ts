import { CodecError } from './byte-codec.ts';

/** Fields of a header before its time: hashes, bloom and numbers. */
const FIELDS_BEFORE = 11;

/** The timestamp of a header (RLP), in seconds. */
export function timestampOf(header: Uint8Array): number {
  let at = itemAt(header, 0).start;
  for (let field = 0; field < FIELDS_BEFORE; field++) at = itemAt(header, at).end;
  const { start, end } = itemAt(header, at);
  let value = 0;
  for (const byte of header.subarray(start, end)) value = value * 256 + byte;
  if (!Number.isSafeInteger(value)) throw new CodecError('number too large');
  return value;
}

/** Where the content of an RLP item begins and ends. */
function itemAt(bytes: Uint8Array, at: number): { readonly start: number; readonly end: number } {
  const head = bytes[at];
  if (head === undefined) throw new CodecError('unexpected end of bytes');
  if (head < 0x80) return { start: at, end: at + 1 };
  const short = head < 0xc0 ? 0x80 : 0xc0;
  if (head - short <= 55) return { start: at + 1, end: at + 1 + head - short };
  const start = at + 1 + head - short - 55;
  let length = 0;
  for (const byte of bytes.subarray(at + 1, start)) length = length * 256 + byte;
  if (start + length > bytes.length) throw new CodecError('unexpected end of bytes');
  return { start, end: start + length };
}
