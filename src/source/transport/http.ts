import { boundedWaitMs, SourceError, type SourceErrorCode } from '../errors.ts';
import type { Endpoint } from './endpoint.ts';
import type { Transport, TransportOptions } from './interface.ts';
import { readAnswer } from './json-rpc.ts';
import { parseJson } from './parse-json.ts';

/** JSON-RPC as HTTP POST. */
export class HttpTransport implements Transport {
  /** Has none to speak of: its requests fail one by one. */
  readonly connection = 0;
  readonly #endpoint: Endpoint;
  readonly #options: TransportOptions;

  constructor(endpoint: Endpoint, options: TransportOptions) {
    this.#endpoint = endpoint;
    this.#options = options;
  }

  async exchange(body: string, _ids: readonly number[], signal: AbortSignal): Promise<unknown> {
    const response = await this.#guard(
      fetch(this.#endpoint.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...this.#endpoint.headers },
        body,
        signal,
        // A redirected POST would hand keys and questions to whoever the server names.
        redirect: 'manual',
      }),
      signal,
    );
    const text = await this.#guard(this.#readText(response), signal);
    if (response.status === 429) throw this.#error('rateLimited', 'HTTP 429', response);
    const parsed = parseJson(text, this.#options.maxResponseBytes);
    // Several servers put JSON-RPC errors under other statuses, and mean the error, not the status.
    const isMeant = (json: unknown): boolean => response.status !== 401 && (response.ok || isRpc(json));
    if ('value' in parsed && isMeant(parsed.value)) return parsed.value;
    if (response.ok && 'refusal' in parsed) {
      throw this.#error('garbage', `${parsed.refusal}: ${text.slice(0, 80)}`);
    }
    throw this.#error(codeOfStatus(response.status), `HTTP ${response.status}`, response);
  }

  // Connections belong to the process's agent, which closes idle and broken ones by itself.
  reset(): void {}
  close(): void {}

  async #readText(response: Response): Promise<string> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    // Counted after decompression: the header's length would let a small body grow without limit.
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength;
      if (size > this.#options.maxResponseBytes) {
        throw this.#error('tooLarge', `an answer of more than ${this.#options.maxResponseBytes} bytes`);
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  async #guard<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await work;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SourceError) throw error;
      throw this.#error('unreachable', describe(error));
    }
  }

  #error(code: SourceErrorCode, what: string, response?: Response): SourceError {
    const { name, scrub } = this.#endpoint;
    const wait = response === undefined ? undefined : retryAfterMs(response);
    return new SourceError(
      { code, upstream: name, ...(wait === undefined ? {} : { retryAfterMs: wait }) },
      `${name}: ${scrub(what)}`,
    );
  }
}

function codeOfStatus(status: number): SourceErrorCode {
  if (status === 401 || status === 402 || status === 403) return 'unauthorized';
  return status >= 500 || status === 408 || status === 425 ? 'overloaded' : 'refused';
}

function isRpc(json: unknown): boolean {
  return Array.isArray(json) ? json.some(isRpc) : readAnswer(json) !== undefined;
}

/** Seconds or a date, as HTTP has it. */
function retryAfterMs(response: Response): number | undefined {
  const text = response.headers.get('retry-after');
  if (text === null) return undefined;
  return boundedWaitMs(/^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now());
}

/** fetch says 'fetch failed' and keeps the reason in its cause. */
function describe(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  const inner = cause instanceof Error ? cause : error;
  const { code, message } = inner as { code?: unknown; message?: unknown };
  return [code, message].filter((part) => typeof part === 'string' && part !== '').join(' ');
}
