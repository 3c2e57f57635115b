import { credentialOf } from '../auth/authenticator.ts';
import { AT_LEAST_HEADER } from '../dispatch/at-least.ts';
import type { HostMemory } from '../limits/access.ts';
import { FORWARDED_HEADER } from '../limits/client-address.ts';
import { MAX_REQUEST_ID_CHARS, REQUEST_ID_HEADER, TRACEPARENT_HEADER } from './client-request-id.ts';

/**
 * The one shape of request that is read straight off a socket: `POST / HTTP/1.1`, one Content-Length, a JSON content
 * type, nothing that changes how bytes are framed. It accepts far less than node's parser does, so that what it
 * accepts it cannot read differently; at the first byte in doubt it says `other`, and node reads all of it again.
 */
export interface PlainHead {
  readonly bodyStart: number;
  readonly bodyLength: number;
  /** The value of `x-chain-at-least`: digits and semicolons. */
  readonly atLeast: string | undefined;
  /** What the client calls the request. */
  readonly requestId: string | undefined;
  /** The trace that the request is part of, where that is read. */
  readonly traceparent: string | undefined;
  /** What proves who asks, where that is asked for. */
  readonly credential: string | undefined;
  /** Whom a proxy asks for, where that counts. */
  readonly forwarded: string | undefined;
  /** What the client can unpack, where that counts. */
  readonly encodings: string | undefined;
}

/** What a request must have to be anybody's but node's: a host that is known to be allowed, and no origin to judge. */
export interface PlainAccess {
  /** Absent where hosts do not matter. */
  readonly host?: HostMemory | undefined;
  readonly checksOrigin: boolean;
  /** Whether keys are asked for: then those in headers are read. */
  readonly wantsCredential?: boolean;
  /** Whether answers may be compressed: then what the client takes is read. */
  readonly wantsEncodings?: boolean;
  /** Whether requests are traced: then `traceparent` is read. */
  readonly wantsTraceparent?: boolean;
  /** Whether it comes from a proxy that is trusted: then whom it asks for is read. */
  readonly wantsForwarded?: boolean;
}

/** `more`: all right so far, but the head is not complete. */
export type PlainResult = PlainHead | 'more' | 'other';

/** Half of what node's parser takes: which of them is at its limit is never a question. */
const MAX_HEAD_BYTES = 8_192;
/** Node keeps the first thousand. */
const MAX_HEADERS = 100;
const MAX_LENGTH_DIGITS = 9;
/** What is longer is malformed, which is node's to find. */
const MAX_AT_LEAST_CHARS = 32;

const CR = 13;
const LF = 10;
const SPACE = 32;
const COLON = 58;
const ZERO = 48;
const SEMICOLON = 59;

const ANYBODY: PlainAccess = { checksOrigin: false };

const ascii = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const bytesMatching = (pattern: RegExp): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => (pattern.test(String.fromCharCode(byte)) ? 1 : 0));

const REQUEST_LINE = ascii('POST / HTTP/1.1\r\n');
const NAME = bytesMatching(/[A-Za-z0-9_-]/);
const VALUE = bytesMatching(/[ -~]/);
const HOST = ascii('host');
const ORIGIN = ascii('origin');
const CONTENT_TYPE = ascii('content-type');
const CONTENT_LENGTH = ascii('content-length');
const CONNECTION = ascii('connection');
const KEEP_ALIVE = ascii('keep-alive');
const JSON_TYPE = ascii('application/json');
const AT_LEAST = ascii(AT_LEAST_HEADER);
const TRACEPARENT = ascii(TRACEPARENT_HEADER);
const REQUEST_ID = ascii(REQUEST_ID_HEADER);
const REQUEST_ID_BYTE = bytesMatching(/[\w.-]/);
const AUTHORIZATION = ascii('authorization');
const API_KEY = ascii('x-api-key');
const FORWARDED = ascii(FORWARDED_HEADER);
const ENCODINGS = ascii('accept-encoding');
/** What node's parser or its server acts upon, beside the headers read here. */
const NOT_PLAIN = ['transfer-encoding', 'expect', 'upgrade', 'proxy-connection'].map(ascii);

/** Reads the head of the request that begins at `from`. Holds nothing: with more bytes, it is asked again. */
export function readPlainHead(
  bytes: Uint8Array,
  from: number,
  maxBodyBytes: number,
  access: PlainAccess = ANYBODY,
): PlainResult {
  const limit = Math.min(bytes.length, from + MAX_HEAD_BYTES);
  const unfinished = limit === bytes.length ? 'more' : 'other';
  let at = from;
  for (let i = 0; i < REQUEST_LINE.length; i++, at++) {
    if (at === limit) return unfinished;
    if (bytes[at] !== REQUEST_LINE[i]) return 'other';
  }
  let hosts = 0;
  let types = 0;
  let connections = 0;
  let bodyLength = -1;
  let atLeast: string | undefined;
  let requestId: string | undefined;
  let traceparent: string | undefined;
  let credential: string | undefined;
  let forwarded: string | undefined;
  let encodings: string | undefined;
  for (let headers = 0; headers <= MAX_HEADERS; headers++) {
    if (at === limit) return unfinished;
    if (bytes[at] === CR) {
      if (at + 1 === limit) return unfinished;
      if (bytes[at + 1] !== LF || hosts !== 1 || types !== 1 || bodyLength === -1) return 'other';
      return {
        bodyStart: at + 2,
        bodyLength,
        atLeast,
        requestId,
        traceparent,
        credential,
        forwarded,
        encodings,
      };
    }

    const nameStart = at;
    while (at < limit && NAME[bytes[at] as number] === 1) at++;
    if (at === limit) return unfinished;
    if (bytes[at] !== COLON || at === nameStart) return 'other';
    const nameEnd = at;
    at++;
    if (at < limit && bytes[at] === SPACE) at++;

    // The value is read to where it ends or stops being plain; what it means is known by its name.
    const valueStart = at;
    if (equals(bytes, nameStart, nameEnd, CONTENT_LENGTH)) {
      if (bodyLength !== -1) return 'other';
      bodyLength = 0;
      while (at < limit && isDigit(bytes[at] as number)) {
        bodyLength = bodyLength * 10 + (bytes[at] as number) - ZERO;
        at++;
      }
      // No sign, no leading zero, and no empty body: nothing to wonder about.
      if (at > valueStart && bytes[valueStart] === ZERO) return 'other';
      if (at - valueStart > MAX_LENGTH_DIGITS || bodyLength > maxBodyBytes) return 'other';
      if (at < limit && bodyLength === 0) return 'other';
    } else {
      for (const name of NOT_PLAIN) if (equals(bytes, nameStart, nameEnd, name)) return 'other';
      while (at < limit && VALUE[bytes[at] as number] === 1) at++;
    }
    if (at === limit) return unfinished;
    if (bytes[at] !== CR) return 'other';
    const valueEnd = at;
    at++;
    if (at === limit) return unfinished;
    if (bytes[at] !== LF) return 'other';
    at++;

    if (equals(bytes, nameStart, nameEnd, HOST)) {
      hosts++;
      if (access.host !== undefined && !access.host.allows(bytes, valueStart, valueEnd)) return 'other';
    } else if (access.checksOrigin && equals(bytes, nameStart, nameEnd, ORIGIN)) return 'other';
    else if (equals(bytes, nameStart, nameEnd, CONTENT_TYPE)) {
      if (!isJson(bytes, valueStart, valueEnd)) return 'other';
      types++;
    } else if (equals(bytes, nameStart, nameEnd, CONNECTION)) {
      connections++;
      if (connections > 1 || !equals(bytes, valueStart, valueEnd, KEEP_ALIVE)) return 'other';
    } else if (equals(bytes, nameStart, nameEnd, AT_LEAST)) {
      if (atLeast !== undefined || !isAtLeast(bytes, valueStart, valueEnd)) return 'other';
      atLeast = String.fromCharCode(...bytes.subarray(valueStart, valueEnd));
    } else if (equals(bytes, nameStart, nameEnd, REQUEST_ID)) {
      if (requestId !== undefined || !isRequestId(bytes, valueStart, valueEnd)) return 'other';
      requestId = textOf(bytes, valueStart, valueEnd);
    } else if (access.wantsTraceparent === true && equals(bytes, nameStart, nameEnd, TRACEPARENT)) {
      // What is around it, or that there are two, is node's to judge.
      if (traceparent !== undefined || bytes[valueStart] === SPACE || bytes[valueEnd - 1] === SPACE)
        return 'other';
      traceparent = textOf(bytes, valueStart, valueEnd);
    } else if (access.wantsEncodings === true && equals(bytes, nameStart, nameEnd, ENCODINGS)) {
      if (encodings !== undefined) return 'other';
      encodings = textOf(bytes, valueStart, valueEnd);
    } else if (access.wantsForwarded === true && equals(bytes, nameStart, nameEnd, FORWARDED)) {
      if (forwarded !== undefined) return 'other';
      forwarded = textOf(bytes, valueStart, valueEnd);
    } else if (access.wantsCredential === true) {
      const isKey = equals(bytes, nameStart, nameEnd, API_KEY);
      if (!isKey && !equals(bytes, nameStart, nameEnd, AUTHORIZATION)) continue;
      // Spaces around it are node's to take off.
      if (bytes[valueStart] === SPACE || bytes[valueEnd - 1] === SPACE) return 'other';
      const value = textOf(bytes, valueStart, valueEnd);
      const given = credentialOf(isKey ? { 'x-api-key': value } : { authorization: value });
      // Two of them, or one that means nothing: node's to judge.
      if (given === undefined || credential !== undefined) return 'other';
      credential = given;
    }
  }
  return 'other';
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= ZERO + 9;
}

function isJson(bytes: Uint8Array, start: number, end: number): boolean {
  const typeEnd = start + JSON_TYPE.length;
  if (typeEnd > end || !equals(bytes, start, typeEnd, JSON_TYPE)) return false;
  return typeEnd === end || bytes[typeEnd] === SEMICOLON;
}

/** Without any space around it, so that it is the same text to node; what it means is found out elsewhere. */
function isAtLeast(bytes: Uint8Array, start: number, end: number): boolean {
  if (end === start || end - start > MAX_AT_LEAST_CHARS) return false;
  for (let at = start; at < end; at++) {
    if (!isDigit(bytes[at] as number) && bytes[at] !== SEMICOLON) return false;
  }
  return true;
}

/** Likewise: one that is no name is ignored, which is node's to do. */
function isRequestId(bytes: Uint8Array, start: number, end: number): boolean {
  if (end === start || end - start > MAX_REQUEST_ID_CHARS) return false;
  for (let at = start; at < end; at++) if (REQUEST_ID_BYTE[bytes[at] as number] === 0) return false;
  return true;
}

/** Whether bytes that are all printable equal `word`, which is in lower case, in any case. */
function equals(bytes: Uint8Array, start: number, end: number, word: Uint8Array): boolean {
  if (end - start !== word.length) return false;
  for (let i = 0; i < word.length; i++) {
    if (((bytes[start + i] as number) | 32) !== word[i]) return false;
  }
  return true;
}
