import { toHex } from '../primitives/hex.ts';

/** One piece of state, as the native core names what it misses and a store is asked for it. */
export type StateKey =
  | { readonly kind: 'account'; readonly address: Uint8Array }
  | { readonly kind: 'slot'; readonly address: Uint8Array; readonly slot: Uint8Array }
  | { readonly kind: 'code'; readonly hash: Uint8Array }
  | { readonly kind: 'blockHash'; readonly number: number };

export type SlotKey = Extract<StateKey, { kind: 'slot' }>;

/** A key as text, each one different: hex digits behind a letter, as the native core writes them. */
export function keyText(key: StateKey): string {
  switch (key.kind) {
    case 'account':
      return `a${digits(key.address)}`;
    case 'slot':
      return `s${digits(key.address)}${digits(key.slot)}`;
    case 'code':
      return `c${digits(key.hash)}`;
    case 'blockHash':
      return `h${key.number.toString(16).padStart(16, '0')}`;
  }
}

/** A key in words, for messages. */
export function describeKey(key: StateKey): string {
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

function digits(bytes: Uint8Array): string {
  return toHex(bytes).slice(2);
}
