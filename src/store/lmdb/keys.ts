import { fromHex, type Hex } from '../../primitives/hex.ts';

/** Bytes of a block or bucket number in a key; big-endian, so that keys sort as numbers do. */
export const numberBytes = 6;
const newestNumber = 2 ** (8 * numberBytes) - 1;

/** A number as a key of its own. */
export function numberKey(number: number): Buffer {
  const key = Buffer.allocUnsafe(numberBytes);
  key.writeUIntBE(number, 0, numberBytes);
  return key;
}

/** Number and hash: names a block whether or not it is canonical. */
export function blockKey(number: number, hash: Hex): Buffer {
  const key = Buffer.allocUnsafe(numberBytes + 32);
  key.writeUIntBE(number, 0, numberBytes);
  key.set(fromHex(hash), numberBytes);
  return key;
}

/** Only canonical blocks have logs here (a revert deletes them), so the hash is in the chunk and not in its key. */
export function logChunkKey(number: number, chunk: number): Buffer {
  const key = Buffer.allocUnsafe(numberBytes + 3);
  key.writeUIntBE(number, 0, numberBytes);
  key.writeUIntBE(chunk, numberBytes, 3);
  return key;
}

/** A piece of state and the block that wrote it, newest first: a seek to (subject, B) lands on the value at B. */
export function versionKey(subject: Uint8Array, number: number): Buffer {
  const key = Buffer.allocUnsafe(subject.length + numberBytes);
  key.set(subject);
  key.writeUIntBE(newestNumber - number, subject.length, numberBytes);
  return key;
}

/** The block number of a version key. */
export function versionNumber(key: Uint8Array): number {
  return newestNumber - readNumber(key, key.length - numberBytes);
}

/** Address and slot as the subject of a version key. */
export function slotSubject(address: Uint8Array, slot: Uint8Array): Buffer {
  const subject = Buffer.allocUnsafe(52);
  subject.set(address);
  subject.set(slot, 20);
  return subject;
}

/** Position, hashed value, and block (recent rows) or bucket (postings). */
export function postingKey(prefix: Uint8Array, number: number): Buffer {
  const key = Buffer.allocUnsafe(prefix.length + numberBytes);
  key.set(prefix);
  key.writeUIntBE(number, prefix.length, numberBytes);
  return key;
}

/** Bytes of a transaction's hash in a key: what few of them share is told apart by looking at them. */
export const transactionHashBytes = 8;

/** The beginning of a transaction's hash, and its place: block and index. */
export function transactionKey(hash: Uint8Array, number: number, index: number): Buffer {
  const key = Buffer.allocUnsafe(transactionHashBytes + numberBytes + 3);
  key.set(hash.subarray(0, transactionHashBytes));
  key.writeUIntBE(number, transactionHashBytes, numberBytes);
  key.writeUIntBE(index, transactionHashBytes + numberBytes, 3);
  return key;
}

/** The place that a transaction's key has. */
export function transactionPlace(key: Uint8Array): { readonly number: number; readonly index: number } {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.length);
  return {
    number: bytes.readUIntBE(transactionHashBytes, numberBytes),
    index: bytes.readUIntBE(transactionHashBytes + numberBytes, 3),
  };
}

/** The number at the end of a key. */
export function trailingNumber(key: Uint8Array): number {
  return readNumber(key, key.length - numberBytes);
}

/** Whether two byte strings share their first `length` bytes. */
export function samePrefix(a: Uint8Array, b: Uint8Array, length: number): boolean {
  for (let at = length - 1; at >= 0; at--) if (a[at] !== b[at]) return false;
  return true;
}

function readNumber(key: Uint8Array, offset: number): number {
  // Not through a Buffer: making one for each of many small keys cost half of a search.
  let number = 0;
  for (let at = offset; at < offset + numberBytes; at++) number = number * 256 + (key[at] ?? 0);
  return number;
}
