import { setImmediate as nextTurn } from 'node:timers/promises';
import { CodecError } from '../chain/byte-codec.ts';
import { describeKey, keyText, type StateKey } from '../chain/state-key.ts';
import { StateUnavailableError } from '../primitives/errors.ts';
import type { Awaitable } from '../primitives/hex.ts';

const AS_OF_DIGITS = 16;
const PREFIX_DIGITS = 32;
/** Hex digits that follow each kind of key. */
const KEY_DIGITS: Readonly<Record<string, number>> = { a: 40, s: 104, c: 64, h: 16 };
const HASH_BYTES = 32;
/** Keys that one code weighs as much as, where keys are handed in some at a time. */
const CODE_WEIGHT = 4;
/** What an account without code has as its code hash. */
const NO_CODE = Buffer.from('c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470', 'hex');

type Values = readonly (Uint8Array | undefined)[];

/** What the native core lacked, read from its text: 16 digits each of block and generation, then keys. */
export function readMissing(text: string): { readonly asOf: number; readonly keys: StateKey[] } {
  return { asOf: Number.parseInt(text.slice(0, AS_OF_DIGITS), 16), keys: readKeys(text, PREFIX_DIGITS) };
}

/** Texts of missing keys of one moment as one. */
export function joinMissing(texts: readonly string[]): string {
  return texts.map((text, at) => (at === 0 ? text : text.slice(PREFIX_DIGITS))).join('');
}

/** Keys from their texts, one behind the other. */
export function readKeys(text: string, start = 0): StateKey[] {
  const keys: StateKey[] = [];
  let at = start;
  while (at < text.length) {
    const kind = text.charAt(at);
    const digits = KEY_DIGITS[kind];
    if (digits === undefined) throw new CodecError(`unknown kind of state key: ${kind}`);
    keys.push(readKey(kind, text.slice(at + 1, at + 1 + digits)));
    at += 1 + digits;
  }
  return keys;
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

/** Takes in what was loaded. */
interface Core {
  provide(missing: string, values: Uint8Array): void;
}

/**
 * Loads what the native core lacked and hands it in, `atOnce` keys at a time: code together with its account, which saves
 * a round. Only the first key is needed for certain, as those behind it were found by going on without it: of them, what
 * cannot be had is left out, and asked for again if it is needed.
 */
export async function supply(
  core: Core,
  missing: string,
  load: (keys: readonly StateKey[], asOf: number) => Awaitable<Values>,
  atOnce = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { asOf, keys } = readMissing(missing);
  const prefix = missing.slice(0, PREFIX_DIGITS);
  for (const part of partsOf(keys, atOnce)) {
    // Reading a store and handing in values takes this thread's time.
    if (part !== keys) await nextTurn();
    const isFirst = part[0] === keys[0];
    const found = await (isFirst ? load(part, asOf) : loadIfKnown(() => load(part, asOf)));
    if (found === undefined) return;
    const [needed] = part;
    if (isFirst && needed !== undefined && found[0] === undefined) throw notKnown(needed);
    hand(core, prefix, part, found);
    const codes = codeKeys(part, found);
    // Long, and each is hashed when it is handed in.
    for (const some of partsOf(codes, Math.ceil(atOnce / CODE_WEIGHT))) {
      if (some !== codes) await nextTurn();
      hand(core, prefix, some, await load(some, asOf));
    }
  }
}

/** What is loaded, or nothing where that cannot be had. */
async function loadIfKnown(load: () => Awaitable<Values>): Promise<Values | undefined> {
  try {
    return await load();
  } catch (error) {
    if (error instanceof StateUnavailableError) return undefined;
    throw error;
  }
}

/** The list itself if it is short enough, or else parts of it; none of an empty one. */
function partsOf(keys: readonly StateKey[], size: number): readonly (readonly StateKey[])[] {
  if (keys.length <= size) return keys.length === 0 ? [] : [keys];
  const parts: (readonly StateKey[])[] = [];
  for (let at = 0; at < keys.length; at += size) parts.push(keys.slice(at, at + size));
  return parts;
}

/** Hands in what is known of the keys. */
function hand(core: Core, prefix: string, keys: readonly StateKey[], values: Values): void {
  const known = keys.filter((_, index) => values[index] !== undefined);
  const found = values.filter((value) => value !== undefined);
  if (known.length > 0) core.provide(prefix + known.map(keyText).join(''), joinValues(known, found));
}

function notKnown(key: StateKey): StateUnavailableError {
  return new StateUnavailableError(`${describeKey(key)} is not known here`);
}

/** The code of the accounts among the values, but for what was asked for anyway. */
function codeKeys(keys: readonly StateKey[], values: Values): StateKey[] {
  const seen = new Set(keys.filter(({ kind }) => kind === 'code').map(keyText));
  const codes: StateKey[] = [];
  for (const [index, key] of keys.entries()) {
    const value = values[index];
    const hash = key.kind === 'account' ? codeHashOf(value) : undefined;
    if (hash === undefined) continue;
    const code: StateKey = { kind: 'code', hash };
    if (seen.has(keyText(code))) continue;
    seen.add(keyText(code));
    codes.push(code);
  }
  return codes;
}

/** The hash of an account's code, the last field of its stored form; undefined where there is no code. */
export function codeHashOf(account: Uint8Array | undefined): Uint8Array | undefined {
  const hash = account?.subarray(-HASH_BYTES);
  if (hash === undefined || hash.length === 0 || Buffer.compare(hash, NO_CODE) === 0) return undefined;
  return hash;
}

/** The nonce of an account in its stored form, without leading zeros; empty where there is no account. */
export function nonceOf(account: Uint8Array | undefined): Uint8Array {
  if (account === undefined || account.length === 0) return new Uint8Array(0);
  const at = nonceAt(account);
  const first = account[at] ?? 0x80;
  return first < 0x80 ? account.subarray(at, at + 1) : account.subarray(at + 1, at + 1 + first - 0x80);
}

/** RLP of a list: its first field is the nonce. */
function nonceAt(account: Uint8Array): number {
  return (account[0] ?? 0) >= 0xf8 ? 2 : 1;
}

/** Whether an account in its stored form can never have run code, and so can have no storage. */
export function isBareAccount(account: Uint8Array): boolean {
  if (account.length === 0) return true;
  // 0x80 is zero.
  return account[nonceAt(account)] === 0x80 && codeHashOf(account) === undefined;
}

/** Joins loaded values for the native core; one that is not known here makes the whole answer unavailable. */
export function joinValues(keys: readonly StateKey[], values: Values): Buffer {
  const parts: Uint8Array[] = [];
  for (const [index, key] of keys.entries()) {
    const value = values[index];
    if (value === undefined) throw notKnown(key);
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32LE(value.length);
    parts.push(length, value);
  }
  return Buffer.concat(parts);
}
