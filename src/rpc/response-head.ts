import { STATUS_CODES } from 'node:http';

export interface ResponseHeadOptions {
  readonly keepAliveTimeoutMs: number;
  /** Browsers of any origin may read: right for what needs no credential. */
  readonly allowAnyOrigin: boolean;
}

const CORS_HEADERS = [
  'access-control-allow-origin',
  '*',
  'access-control-expose-headers',
  'x-chain-head, x-chain-pending',
];
const PREFLIGHT_HEADERS = [
  ...CORS_HEADERS,
  'access-control-allow-methods',
  'POST, OPTIONS',
  'access-control-allow-headers',
  'content-type, authorization, x-api-key, x-chain-at-least',
  'access-control-max-age',
  '86400',
];
const LENGTH_MARK = '#';

/** The heads of all answers, as headers for node:http and as text for the plain front: both send the same bytes. */
export class ResponseHeads {
  readonly #cors: readonly string[];
  readonly #keepAlive: string;
  readonly #aroundLength = new Map<number, readonly [string, string]>();
  readonly #bodiless = new Map<number, string>();
  #second = -1;
  #date = '';
  #tail = '';

  constructor({ allowAnyOrigin, keepAliveTimeoutMs }: ResponseHeadOptions) {
    this.#cors = allowAnyOrigin ? CORS_HEADERS : [];
    this.#keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveTimeoutMs / 1000)}\r\n\r\n`;
  }

  /** Names and values in turn. Without a length there is no body. */
  headers(status: number, length: string | undefined): readonly string[] {
    // Issue "every answer names its snapshot" (B3) adds x-chain-head here, from the response's snapshot.
    const content =
      length === undefined ? [] : ['content-type', 'application/json', 'content-length', length];
    return content.concat(this.#cors, status === 503 ? ['retry-after', '1'] : []);
  }

  preflight(): readonly string[] {
    return PREFLIGHT_HEADERS;
  }

  /** The head of an answer with a body, as node:http writes it from the same headers. */
  text(status: number, length: number, isLast: boolean): string {
    let parts = this.#aroundLength.get(status);
    if (parts === undefined) {
      const [before = '', after = ''] = this.#render(status, LENGTH_MARK).split(LENGTH_MARK);
      parts = [before, after];
      this.#aroundLength.set(status, parts);
    }
    return parts[0] + length + parts[1] + this.#end(isLast);
  }

  /** The head of an answer without a body. */
  bodilessText(status: number, isLast: boolean): string {
    let head = this.#bodiless.get(status);
    if (head === undefined) {
      head = this.#render(status, undefined);
      this.#bodiless.set(status, head);
    }
    return head + this.#end(isLast);
  }

  #render(status: number, length: string | undefined): string {
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
    const headers = this.headers(status, length);
    for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
    return text;
  }

  #end(isLast: boolean): string {
    const now = Date.now();
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#date = `Date: ${new Date(now).toUTCString()}\r\n`;
      this.#tail = this.#date + this.#keepAlive;
    }
    return isLast ? `${this.#date}Connection: close\r\n\r\n` : this.#tail;
  }
}
