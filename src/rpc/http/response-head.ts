import { STATUS_CODES } from 'node:http';
import type { AnswerOrigin, RpcResponse } from '../dispatch/response.ts';
import { REQUEST_ID_HEADER } from './client-request-id.ts';

/** What an answer was read from; undefined when no chain was asked. */
export type Origin = AnswerOrigin | undefined;

export interface ResponseHeadOptions {
  readonly keepAliveTimeoutMs: number;
  /** Browsers of any origin may read: right for what needs no credential. */
  readonly allowAnyOrigin: boolean;
}

const CORS_HEADERS = [
  'access-control-allow-origin',
  '*',
  'access-control-expose-headers',
  'x-chain-head, x-chain-pending, x-chain-source, x-request-id, retry-after',
];
const PREFLIGHT_HEADERS = [
  ...CORS_HEADERS,
  'access-control-allow-methods',
  'POST, OPTIONS',
  'access-control-allow-headers',
  'content-type, authorization, x-api-key, x-chain-at-least, x-request-id, traceparent',
  'access-control-max-age',
  '86400',
];
/** What goes with a status, whatever the body says. */
const STATUS_HEADERS: ReadonlyMap<number, readonly string[]> = new Map([
  [401, ['www-authenticate', 'Bearer']],
  [503, ['retry-after', '1']],
]);
const LENGTH_MARK = '#';

/** The heads of all answers, as headers for node:http and as text for the plain front: both send the same bytes. */
export class ResponseHeads {
  readonly #cors: readonly string[];
  readonly #keepAlive: string;
  readonly #aroundLength = new Map<number, readonly [string, string]>();
  readonly #bodiless = new Map<number, string>();
  /** What the end of a head was made of: it is made again with each second and each snapshot. */
  #second = -1;
  #origin: Origin;
  #stamp = '';
  #tail = '';

  constructor({ allowAnyOrigin, keepAliveTimeoutMs }: ResponseHeadOptions) {
    this.#cors = allowAnyOrigin ? CORS_HEADERS : [];
    this.#keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveTimeoutMs / 1000)}\r\n\r\n`;
  }

  /** Names and values in turn. Without a length there is no body. */
  headers(
    status: number,
    length: string | undefined,
    origin: Origin,
    more: readonly string[] = [],
  ): readonly string[] {
    return this.#fixed(status, length).concat(more, chainHeaders(origin));
  }

  preflight(): readonly string[] {
    return PREFLIGHT_HEADERS;
  }

  /** The head of an answer with a body, as node:http writes it from the same headers. */
  text(status: number, length: number, origin: Origin, isLast: boolean, more?: readonly string[]): string {
    let parts = this.#aroundLength.get(status);
    if (parts === undefined) {
      const [before = '', after = ''] = this.#render(status, LENGTH_MARK).split(LENGTH_MARK);
      parts = [before, after];
      this.#aroundLength.set(status, parts);
    }
    const own = more === undefined ? '' : lines(more);
    return parts[0] + length + parts[1] + own + this.#end(origin, isLast);
  }

  /** The head of an answer without a body. */
  bodilessText(status: number, origin: Origin, isLast: boolean, more?: readonly string[]): string {
    let head = this.#bodiless.get(status);
    if (head === undefined) {
      head = this.#render(status, undefined);
      this.#bodiless.set(status, head);
    }
    const own = more === undefined ? '' : lines(more);
    return head + own + this.#end(origin, isLast);
  }

  #fixed(status: number, length: string | undefined): string[] {
    const content =
      length === undefined ? [] : ['content-type', 'application/json', 'content-length', length];
    return content.concat(this.#cors, STATUS_HEADERS.get(status) ?? []);
  }

  #render(status: number, length: string | undefined): string {
    return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n${lines(this.#fixed(status, length))}`;
  }

  #end(origin: Origin, isLast: boolean): string {
    const now = Date.now();
    const second = Math.floor(now / 1000);
    if (second !== this.#second || origin !== this.#origin) {
      this.#second = second;
      this.#origin = origin;
      this.#stamp = `${lines(chainHeaders(origin))}Date: ${new Date(now).toUTCString()}\r\n`;
      this.#tail = this.#stamp + this.#keepAlive;
    }
    return isLast ? `${this.#stamp}Connection: close\r\n\r\n` : this.#tail;
  }
}

/** The headers that only this answer has; undefined for most. */
export function ownHeaders(
  { retryAfter, coding }: Pick<RpcResponse, 'retryAfter' | 'coding'>,
  requestId: string | undefined,
): readonly string[] | undefined {
  if (retryAfter === undefined && coding === undefined && requestId === undefined) return undefined;
  const retry = retryAfter === undefined ? [] : ['retry-after', String(retryAfter)];
  const packed = coding === undefined ? [] : ['content-encoding', coding, 'vary', 'accept-encoding'];
  const name = requestId === undefined ? [] : [REQUEST_ID_HEADER, requestId];
  return [...retry, ...packed, ...name];
}

/** What an answer says of its snapshot (B3), and that an upstream ran a part of it (B17). While there is no pre-confirmed state, `none` says so (B6). */
function chainHeaders(origin: Origin): readonly string[] {
  if (origin === undefined) return [];
  const { number, hash } = origin.head;
  const newest = origin.pending?.newest;
  const pending = newest === undefined ? 'none' : `${newest.number};${newest.index}`;
  const source = origin.source === undefined ? [] : ['x-chain-source', origin.source];
  return ['x-chain-head', `${number};${hash}`, 'x-chain-pending', pending, ...source];
}

function lines(headers: readonly string[]): string {
  let text = '';
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return text;
}
