import { isUtf8 } from 'node:buffer';
import type { RawJson } from '../../methods/method.ts';
import { exceeds } from '../../primitives/json-text.ts';
import { giveBack } from '../../primitives/owned-bytes.ts';
import { type RpcError, RpcFailure, toRpcError } from './error-map.ts';
import { idSource, scanIds } from './request-id.ts';

/** A request that JSON-RPC 2.0 accepts; `id` is its source text, absent for a notification. */
export interface Call {
  readonly id: string | undefined;
  readonly method: string;
  readonly params: unknown;
}

/** What a body may be made of. */
export interface MessageLimits {
  readonly maxBatch: number;
  /** Values and names in it, all together. Default: 40,000. */
  readonly maxElements?: number;
}

const MAX_NESTING = 64;
const MAX_ELEMENTS = 40_000;
/** Text below this size cannot be slow to parse. */
const SIMPLE_CHARS = 4_096;

/** Reads a body: one call, or the entries of a batch, where a bad one is an error of its own. */
export function readMessage(body: Buffer, limits: MessageLimits): Call | readonly (Call | RpcError)[] {
  const text = decode(body, limits.maxElements ?? MAX_ELEMENTS);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new RpcFailure({ code: 'PARSE_ERROR', reason: 'parse error' });
  }
  if (Array.isArray(parsed)) return readBatch(parsed, text, limits.maxBatch);
  const call = readCall(parsed, (id) => idSource(text, id));
  if (call === undefined) throw invalidRequest();
  return call;
}

/** Decodes text that is safe to parse: valid UTF-8, and not made so that parsing alone is an attack. */
function decode(body: Buffer, maxElements: number): string {
  if (!isUtf8(body)) throw new RpcFailure({ code: 'PARSE_ERROR', reason: 'parse error: not UTF-8' });
  const text = body.toString('utf8');
  if (text.length <= SIMPLE_CHARS) return text;
  switch (exceeds(text, { depth: MAX_NESTING, elements: maxElements })) {
    case 'depth':
      throw new RpcFailure({ code: 'PARSE_ERROR', reason: `parse error: nested deeper than ${MAX_NESTING}` });
    case 'elements':
      throw new RpcFailure({
        code: 'INVALID_REQUEST',
        reason: `request too complex, at most ${maxElements} values and names`,
      });
    case undefined:
      return text;
  }
}

function readBatch(
  entries: readonly unknown[],
  text: string,
  maxBatch: number,
): readonly (Call | RpcError)[] {
  if (entries.length === 0) throw new RpcFailure({ code: 'INVALID_REQUEST', reason: 'empty batch' });
  if (entries.length > maxBatch) {
    const reason = `batch too large: ${entries.length} entries, at most ${maxBatch}`;
    throw new RpcFailure({ code: 'INVALID_REQUEST', reason });
  }
  const ids = scanIds(text);
  return entries.map(
    (entry, index) => readCall(entry, () => ids[index] ?? 'null') ?? toRpcError(invalidRequest()),
  );
}

function invalidRequest(): RpcFailure {
  return new RpcFailure({ code: 'INVALID_REQUEST', reason: 'invalid request' });
}

function readCall(value: unknown, source: (id: string | number | null) => string): Call | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { jsonrpc, id, method, params } = value as Record<string, unknown>;
  if (jsonrpc !== '2.0' || typeof method !== 'string' || method === '') return undefined;
  if (id === undefined) return { id: undefined, method, params };
  if (id !== null && typeof id !== 'string' && typeof id !== 'number') return undefined;
  return { id: source(id), method, params };
}

/** The response object of one failed call. */
export function errorEntry(id: string, { code, message, data }: RpcError): ResponseBody {
  const open = `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${JSON.stringify(message)}`;
  if (data === undefined) return `${open}}}`;
  if (typeof data === 'string') return `${open},"data":${JSON.stringify(data)}}}`;
  return [Buffer.from(`${open},"data":`), data, CLOSE, CLOSE];
}

const OPEN_BATCH = Buffer.from('[');
const NEXT = Buffer.from(',');
const CLOSE_BATCH = Buffer.from(']');
const CLOSE = Buffer.from('}');

/** Text, or pieces that are written one after another: a large result is kept as bytes and never copied. */
export type ResponseBody = string | readonly Buffer[];

/** The length of a body in bytes. */
export function byteLength(body: ResponseBody): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  let bytes = 0;
  for (const piece of body) bytes += piece.length;
  return bytes;
}

/** Whether a body has at most so many bytes. */
export function isWithin(body: ResponseBody, maxBytes: number): boolean {
  // Most answers are so short that they need not be looked at: UTF-8 has at most three bytes for a character.
  return (typeof body === 'string' && body.length * 3 <= maxBytes) || byteLength(body) <= maxBytes;
}

/** Lets go of a body that is not sent. */
export function discard(body: ResponseBody): void {
  if (typeof body !== 'string') for (const piece of body) giveBack(piece);
}

/** The response object of one answered call. */
export function resultEntry(id: string, result: RawJson): ResponseBody {
  const open = `{"jsonrpc":"2.0","id":${id},"result":`;
  return typeof result === 'string' ? `${open}${result}}` : [Buffer.from(open), result, CLOSE];
}

/** One response for all entries that get one; undefined when none does. */
export function joinBatch(entries: readonly (ResponseBody | undefined)[]): ResponseBody | undefined {
  const present = entries.filter((entry) => entry !== undefined);
  if (present.length === 0) return undefined;
  if (present.every((entry) => typeof entry === 'string')) return `[${present.join(',')}]`;
  const pieces: Buffer[] = [];
  for (const entry of present) {
    pieces.push(pieces.length === 0 ? OPEN_BATCH : NEXT);
    if (typeof entry === 'string') pieces.push(Buffer.from(entry));
    else pieces.push(...entry);
  }
  pieces.push(CLOSE_BATCH);
  return pieces;
}
