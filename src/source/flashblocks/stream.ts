import { backOffMs, type Clock, sleep } from '../clock.ts';
import { SourceError, type SourceErrorCode } from '../errors.ts';
import { ClientSocket } from '../transport/client-socket.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import type { Decoded } from './decode.ts';
import { DecodingLine } from './decoding-line.ts';
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
      const { reconnect, afterGarbage } = this.#options;
      const backOff = error.type.code === 'garbage' ? afterGarbage : reconnect;
      const pauseMs = backOffMs(backOff, this.#failures, random);
      await sleep(clock, pauseMs, signal).catch(() => {});
    }
  }

  /** One connection: why it ended, or nothing when the signal aborted. */
  #listen(signal: AbortSignal): Promise<SourceError | undefined> {
    const { connectTimeoutMs, silenceMs, maxMessageBytes, maxUndecodable } = this.#options;
    const { clock } = this.#modules;
    return new Promise((resolve) => {
      const socket = new ClientSocket(this.#endpoint, maxMessageBytes, clock);
      let over = false;
      let garbage = 0;
      const end = (error?: SourceError): void => {
        if (over) return;
        over = true;
        cancel();
        signal.removeEventListener('abort', onAbort);
        // Who sends what nobody can read is not waited for.
        if (error?.type.code === 'garbage') socket.terminate();
        else socket.close();
        resolve(error);
      };
      const onAbort = (): void => end();
      const expect = (ms: number, what: string): (() => void) =>
        clock.after(ms, () => end(this.#error('timeout', what)));
      const silence = `no flashblock for ${silenceMs} ms`;
      let cancel = expect(connectTimeoutMs, 'no WebSocket handshake in time');
      if (signal.aborted) end();
      signal.addEventListener('abort', onAbort, { once: true });
      const take = (decoded: Decoded): void => {
        if (over) return;
        if (this.#receive(decoded)) {
          garbage = 0;
          cancel();
          cancel = expect(silenceMs, silence);
        } else if (++garbage >= maxUndecodable) {
          end(this.#error('garbage', `${garbage} messages in a row that are no flashblock`));
        }
      };
      const line = new DecodingLine(this.#options, socket, take);
      socket.onOpen(() => {
        if (over) return;
        cancel();
        cancel = expect(silenceMs, silence);
      });
      socket.onMessage((data, isBinary) => {
        if (over) return;
        this.#messages += 1;
        this.#modules.observe({ kind: 'message', stream: this.name, bytes: data.length });
        line.push({ data, isBinary }, () => !over);
      });
      socket.onClose((reason) => end(this.#error('unreachable', reason)));
    });
  }

  /** True when it was a flashblock: a stream of anything else is as good as silent. */
  #receive(decoded: Decoded): boolean {
    const { clock, observe, take } = this.#modules;
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
