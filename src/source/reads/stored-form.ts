import { toQuantity } from '../../primitives/parse.ts';
import type { AccountState, StateRead } from '../interface.ts';

export type Keccak256 = (bytes: Uint8Array) => Uint8Array;

/** A value as stores keep it, and the code that came with an account. */
export interface StoredRead {
  /** `undefined`: not known here. */
  readonly value: Uint8Array | undefined;
  readonly code?: { readonly hash: Uint8Array; readonly bytes: Uint8Array };
}

const ABSENT = new Uint8Array(0);

/** What a read is in a store: the forms that the native core writes and reads. */
export function toStored(read: StateRead, keccak256: Keccak256): StoredRead {
  switch (read.kind) {
    case 'account':
      return storedAccount(read.account, keccak256);
    case 'slot':
      return { value: withoutLeadingZeros(read.value) };
    case 'blockHash':
      return { value: read.hash };
    case 'unknown':
      return { value: undefined };
  }
}

/** RLP of [nonce, balance, code hash]; nothing for an account that is empty, which since EIP-161 does not exist. */
function storedAccount(account: AccountState, keccak256: Keccak256): StoredRead {
  const { nonce, balance, code } = account;
  if (nonce === 0n && balance === 0n && code.length === 0) return { value: ABSENT };
  const hash = keccak256(code);
  const items = [bigEndian(nonce), bigEndian(balance), hash].map(rlpString);
  const length = items.reduce((sum, item) => sum + item.length, 0);
  // At most 9 + 33 + 33 bytes, so mostly over the 55 that a short list can have.
  const head = length < 56 ? [0xc0 + length] : [0xf8, length];
  const value = Buffer.concat([Uint8Array.from(head), ...items]);
  return code.length === 0 ? { value } : { value, code: { hash, bytes: code } };
}

/** A string of at most 55 bytes. */
function rlpString(bytes: Uint8Array): Uint8Array {
  const [first] = bytes;
  if (bytes.length === 1 && first !== undefined && first < 0x80) return bytes;
  return Buffer.concat([Uint8Array.of(0x80 + bytes.length), bytes]);
}

function bigEndian(value: bigint): Uint8Array {
  if (value === 0n) return ABSENT;
  const digits = toQuantity(value).slice(2);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
}

function withoutLeadingZeros(bytes: Uint8Array): Uint8Array {
  const start = bytes.findIndex((byte) => byte !== 0);
  return start < 0 ? ABSENT : bytes.subarray(start);
}
