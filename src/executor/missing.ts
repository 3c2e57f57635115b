import { DecodeError } from '../chain/byte-codec.ts';
import type { StateKey } from '../chain/state-key.ts';
import { StateUnavailableError } from '../primitives/errors.ts';
import { toHex } from '../primitives/hex.ts';

const AS_OF_DIGITS = 16;
const PREFIX_DIGITS = 32;
/** Hex digits that follow each kind of key. */
const KEY_DIGITS: Readonly<Record<string, number>> = { a: 40, s: 104, c: 64, h: 16 };

/** What the native core lacked, read from its text: 16 digits each of block and generation, then keys. */
export function readMissing(text: string): { readonly asOf: number; readonly keys: StateKey[] } {
  const asOf = Number.parseInt(text.slice(0, AS_OF_DIGITS), 16);
  const keys: StateKey[] = [];
  let at = PREFIX_DIGITS;
  while (at < text.length) {
    const kind = text.charAt(at);
    const digits = KEY_DIGITS[kind];
    if (digits === undefined) throw new DecodeError(`unknown kind of state key: ${kind}`);
    keys.push(readKey(kind, text.slice(at + 1, at + 1 + digits)));
    at += 1 + digits;
  }
  return { asOf, keys };
}

function readKey(kind: string, digits: string): StateKey {
  const bytes = Buffer.from(digits, 'hex');
  switch (kind) {
    case 'a':
      return { kind: 'account', address: bytes };
    case 's':
      return { kind: 'slot', address: bytes.subarray(0, 20), slot: bytes.subarray(20) };
    case 'c':
      return { kind: 'code', hash: bytes };
    default:
      return { kind: 'blockHash', number: Number.parseInt(digits, 16) };
  }
}

/** Joins loaded values for the native core; one that is not known here makes the whole answer unavailable. */
export function joinValues(keys: readonly StateKey[], values: readonly (Uint8Array | undefined)[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const [index, key] of keys.entries()) {
    const value = values[index];
    if (value === undefined) throw new StateUnavailableError(`${describe(key)} is not known here`);
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32LE(value.length);
    parts.push(length, value);
  }
  return Buffer.concat(parts);
}

function describe(key: StateKey): string {
  switch (key.kind) {
    case 'account':
      return `account ${toHex(key.address)}`;
    case 'slot':
      return `slot ${toHex(key.slot)} of ${toHex(key.address)}`;
    case 'code':
      return `code ${toHex(key.hash)}`;
    case 'blockHash':
      return `the hash of block ${key.number}`;
  }
}
