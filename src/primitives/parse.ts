import { InvalidParamsError } from './errors.ts';
import type { Hex } from './hex.ts';

/**
 * Readers of JSON values, as strict as geth's hexutil. `where` names the value in the error, such as
 * `invalid argument 0: value`. Empty strings are what geth takes them for: no bytes, or zero.
 */
const MAX_UINT64 = 0xffff_ffff_ffff_ffffn;

function fail(where: string, reason: string): never {
  throw new InvalidParamsError(`${where}: ${reason}`);
}

function hasPrefix(text: string): boolean {
  return text.charCodeAt(0) === 48 && (text.charCodeAt(1) | 32) === 120;
}

/** One class of characters, so that it never steps back more than once over what it read. */
const HEX_TO_END = /[0-9a-fA-F]*$/y;

/** True when `text` holds hex digits only, from `start` on. A regular expression is three times as fast as a loop here. */
export function isHexFrom(text: string, start: number): boolean {
  HEX_TO_END.lastIndex = start;
  return HEX_TO_END.test(text);
}

/** Reads a string. */
export function parseString(value: unknown, where: string): string {
  return typeof value === 'string' ? value : fail(where, 'expected a string');
}

/** Reads hex of any length, a whole number of bytes. */
export function parseBytes(value: unknown, where: string): Hex {
  const text = parseString(value, where);
  if (text === '') return '0x';
  if (!hasPrefix(text)) fail(where, 'hex string without 0x prefix');
  if (text.length % 2 !== 0) fail(where, 'hex string of odd length');
  if (!isHexFrom(text, 2)) fail(where, 'invalid hex string');
  return lower(text);
}

/** Reads exactly `size` bytes of hex. */
export function parseFixedBytes(value: unknown, size: number, where: string): Hex {
  const hex = parseBytes(value, where);
  if (hex.length !== 2 + 2 * size) {
    fail(where, `hex string has length ${hex.length - 2}, want ${2 * size} for ${size} bytes`);
  }
  return hex;
}

/** Reads an address; mixed case is taken as it comes, its checksum is the client's affair. */
export function parseAddress(value: unknown, where: string): Hex {
  return parseFixedBytes(value, 20, where);
}

/** Reads a 32-byte hash, topic or slot. */
export function parseHash(value: unknown, where: string): Hex {
  return parseFixedBytes(value, 32, where);
}

/** Reads a hash that is an argument of its own; a prefix that is missing is said in the words of the official vectors. */
export function parseHashArgument(value: unknown, where: string): Hex {
  if (typeof value === 'string' && value !== '' && !hasPrefix(value)) {
    fail(where, 'json: cannot unmarshal hex string without 0x prefix into Go value of type common.Hash');
  }
  return parseHash(value, where);
}

/** Reads a quantity of at most `bits` bits as minimal hex. */
export function parseQuantity(value: unknown, bits: 64 | 256, where: string): Hex {
  const text = parseString(value, where);
  if (text === '') return '0x0';
  if (!hasPrefix(text)) fail(where, 'hex string without 0x prefix');
  if (text.length === 2) fail(where, 'hex string "0x"');
  if (text.length > 3 && text.charCodeAt(2) === 48) fail(where, 'hex number with leading zero digits');
  if (text.length - 2 > bits / 4) fail(where, `hex number > ${bits} bits`);
  if (!isHexFrom(text, 2)) fail(where, 'invalid hex string');
  return lower(text);
}

/** Reads a quantity of at most 64 bits; an empty string is an error here, as for geth's block numbers. */
export function parseUint64(value: unknown, where: string): bigint {
  if (value === '') fail(where, 'empty hex string');
  const number = BigInt(parseQuantity(value, 64, where));
  return number <= MAX_UINT64 ? number : fail(where, 'hex number > 64 bits');
}

/** Reads a JSON object. */
export function parseObject(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) fail(where, 'expected an object');
  return value as Record<string, unknown>;
}

/** Reads a JSON array. */
export function parseArray(value: unknown, where: string): readonly unknown[] {
  return Array.isArray(value) ? value : fail(where, 'expected an array');
}

/** Checks that a value is true or false. */
export function parseBoolean(value: unknown, where: string): boolean {
  if (typeof value !== 'boolean') throw new InvalidParamsError(`${where}: expected a boolean`);
  return value;
}

/** Minimal hex of a non-negative integer. */
export function toQuantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`;
}

function lower(text: string): Hex {
  return text.toLowerCase() as Hex;
}
