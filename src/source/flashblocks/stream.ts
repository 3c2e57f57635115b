import { backOffMs, type Clock, sleep } from '../clock.ts';
import type { Endpoint } from '../endpoint.ts';
import { SourceError, type SourceErrorCode } from '../errors.ts';
import { decodeFlashblock } from './decode.ts';
import type { ObserveFlashblocks } from './events.ts';
import type { Flashblock } from './flashblock.ts';
import type { StreamOptions } from './options.ts';

export interface StreamHealth {
  /** Without credentials. */
  readonly name: string;
  /** `live` from the first flashblock of a connection until it ends or falls silent. */
  readonly state: 'connecting' | 'live' | 'silent' | 'lost';
  readonly messages: number;
  readonly undecodable: number;
  /** When its last flashblock came, by the clock of the source. */
  readonly lastAt: number | undefined;
}

interface StreamModules {
  readonly clock: Clock;
  random(): number;
  readonly observe: ObserveFlashblocks;
  take(flashblock: Flashblock): void;
}

/** One builder's or proxy's WebSocket: connected to again whenever it ends or says nothing for too long. */
export class FlashblockStream {
  readonly #endpoint: Endpoint;
  readonly #options: StreamOptions;
  readonly #modules: StreamModules;
  #state: StreamHealth['state'] = 'connecting';
  #messages = 0;
  #undecodable = 0;
  #lastAt: number | undefined;
  #failures = 0;

  constructor(endpoint: Endpoint, options: StreamOptions, modules: StreamModules) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#modules = modules;
  }

  get name(): string {
    return this.#endpoint.name;
  }

  get health(): StreamHealth {
    return {
      name: this.name,
      state: this.#state,
      messages: this.#messages,
      undecodable: this.#undecodable,
      lastAt: this.#lastAt,
    };
  }

  /** Listens until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, observe } = this.#modules;
    while (!signal.aborted) {
      const error = await this.#listen(signal);
      if (error === undefined || signal.aborted) return;
      this.#failures += 1;
      this.#state = error.type.code === 'timeout' ? 'silent' : 'lost';
      // Once per outage, not once per try.
      if (this.#failures === 1) {
        observe({ kind: 'stream', stream: this.name, state: this.#state, reason: error.message });
      }
      const pauseMs = backOffMs(this.#options.reconnect, this.#failures, random);
      await sleep(clock, pauseMs, signal).catch(() => {});
    }
  }

  /** One connection: why it ended, or nothing when the signal aborted. */
  #listen(signal: AbortSignal): Promise<SourceError | undefined> {
    const { connectTimeoutMs, silenceMs } = this.#options;
    const { clock } = this.#modules;
    return new Promise((resolve) => {
      const { url, headers } = this.#endpoint;
      const socket = new WebSocket(url, { headers });
      socket.binaryType = 'arraybuffer';
      let over = false;
      const end = (error?: SourceError): void => {
        if (over) return;
        over = true;
        cancel();
        signal.removeEventListener('abort', onAbort);
        // Not waited for: a dead peer would not take part in closing it.
        socket.close();
        resolve(error);
      };
      const onAbort = (): void => end();
      const expect = (ms: number, what: string): (() => void) =>
        clock.after(ms, () => end(this.#error('timeout', what)));
      const silence = `no flashblock for ${silenceMs} ms`;
      let cancel = expect(connectTimeoutMs, 'no WebSocket handshake in time');
      if (signal.aborted) end();
      signal.addEventListener('abort', onAbort, { once: true });
      socket.addEventListener('open', () => {
        if (over) return;
        cancel();
        cancel = expect(silenceMs, silence);
      });
      socket.addEventListener('message', ({ data }) => {
        if (over || !this.#receive(data as string | ArrayBuffer)) return;
        cancel();
        cancel = expect(silenceMs, silence);
      });
      // The 'error' before it says nothing at all.
      socket.addEventListener('close', ({ code }) => {
        end(this.#error('unreachable', `no WebSocket connection (${code})`));
      });
    });
  }

  /** True when it was a flashblock: a stream of anything else is as good as silent. */
  #receive(data: string | ArrayBuffer): boolean {
    const { clock, observe, take } = this.#modules;
    const bytes = typeof data === 'string' ? data.length : data.byteLength;
    this.#messages += 1;
    observe({ kind: 'message', stream: this.name, bytes });
    const decoded = decodeFlashblock(data, this.#options);
    if (!decoded.ok) {
      this.#undecodable += 1;
      observe({ kind: 'undecodable', stream: this.name, ...decoded.error.type });
      return false;
    }
    if (this.#state !== 'live') observe({ kind: 'stream', stream: this.name, state: 'connected' });
    this.#state = 'live';
    this.#failures = 0;
    this.#lastAt = clock.now();
    take(decoded.flashblock);
    return true;
  }

  #error(code: SourceErrorCode, what: string): SourceError {
    const { name, scrub } = this.#endpoint;
    return new SourceError({ code, upstream: name }, `${name}: ${scrub(what)}`);
  }
}
