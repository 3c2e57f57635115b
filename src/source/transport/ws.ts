import type { Clock } from '../clock.ts';
import { SourceError, type SourceErrorCode } from '../errors.ts';
import { ClientSocket } from './client-socket.ts';
import type { Endpoint } from './endpoint.ts';
import type { Subscribe, Transport, TransportOptions } from './interface.ts';
import { encodeCall, readAnswer, toSourceError } from './json-rpc.ts';
import { parseJson } from './parse-json.ts';
import { type Connection, deliver, type Exchange } from './ws-calls.ts';

export interface WsTransportOptions extends TransportOptions {
  readonly connectTimeoutMs: number;
}

/** Ids of our own subscriptions, out of the way of the caller's. */
const FIRST_OWN_ID = 2 ** 40;
/** A message up to this many times too large is still taken, to tell whose it is; a larger one costs the connection. */
const MAX_EXCESS = 2;
/** Messages in a row that are no JSON, after which the connection is given up. */
const MAX_GARBAGE = 16;
/** Where an answer that is too large to parse names the call it belongs to. */
const ID_NEAR_START = /^\s*\[?\s*\{[^{}[\]]*?"id"\s*:\s*(\d+)/;

/** JSON-RPC over one WebSocket, opened when first needed and again after it broke. */
export class WsTransport implements Transport {
  readonly #endpoint: Endpoint;
  readonly #options: WsTransportOptions;
  readonly #clock: Clock;
  #connection: Promise<Connection> | undefined;
  #losses = 0;
  #nextId = FIRST_OWN_ID;
  #closed = false;

  constructor(endpoint: Endpoint, options: WsTransportOptions, clock: Clock) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#clock = clock;
  }

  get connection(): number {
    return this.#losses;
  }

  async exchange(body: string, ids: readonly number[], signal: AbortSignal): Promise<unknown> {
    const connection = await this.#connect(signal);
    return new Promise((resolve, reject) => this.#send(connection, body, { ids, signal, resolve, reject }));
  }

  readonly subscribe: Subscribe = async (params, events, signal) => {
    const connection = await this.#connect(signal);
    const id = this.#nextId++;
    await new Promise<void>((resolve, reject) => {
      let name: string | undefined;
      const end = (settle: () => void): void => {
        signal.removeEventListener('abort', onAbort);
        connection.onClose.delete(onClose);
        if (name !== undefined) connection.subscriptions.delete(name);
        settle();
      };
      const onClose = (error: SourceError): void => end(() => reject(error));
      const onAbort = (): void => {
        // Not waited for: whoever stops listening does not care for the answer.
        if (name !== undefined && connection.socket.isOpen) {
          connection.socket.send(encodeCall(this.#nextId++, 'eth_unsubscribe', [name]));
        }
        end(resolve);
      };
      connection.onClose.add(onClose);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#send(connection, encodeCall(id, 'eth_subscribe', params), {
        ids: [id],
        signal,
        reject: (error) => end(() => reject(error)),
        resolve: (json) => {
          const answer = readAnswer(json);
          if (answer !== undefined && 'error' in answer) {
            end(() => reject(toSourceError(answer.error, this.#endpoint)));
          } else if (typeof answer?.result !== 'string') {
            end(() => reject(this.#error('garbage', 'a subscription without a name')));
          } else {
            name = answer.result;
            connection.subscriptions.set(name, events.onEvent);
            events.onStart();
          }
        },
      });
    });
  };

  reset(): void {
    this.#connection?.then(
      ({ drop }) => drop(this.#error('unreachable', 'dropped to connect again')),
      () => {},
    );
    this.#forget();
  }

  close(): void {
    this.#closed = true;
    this.reset();
  }

  #forget(): void {
    this.#connection = undefined;
    this.#losses += 1;
  }

  #connect(signal: AbortSignal): Promise<Connection> {
    if (this.#closed) return Promise.reject(this.#error('unreachable', 'closed'));
    this.#connection ??= this.#open();
    const connection = this.#connection;
    // The connection is for everybody: who gives up on it does not close it.
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason as Error);
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      connection.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  #open(): Promise<Connection> {
    const socket = new ClientSocket(this.#endpoint, MAX_EXCESS * this.#options.maxResponseBytes, this.#clock);
    const opening = new Promise<Connection>((resolve, reject) => {
      let isLost = false;
      const lost = (error: SourceError): void => {
        isLost = true;
        cancel();
        if (this.#connection === opening) this.#forget();
        reject(error);
        for (const exchange of new Set(connection.exchanges.values())) exchange.reject(error);
        for (const tell of [...connection.onClose]) tell(error);
      };
      const drop = (error: SourceError): void => {
        lost(error);
        // Who says what nobody can read is not waited for.
        if (error.type.code === 'garbage') socket.terminate();
        else socket.close();
      };
      const cancel = this.#clock.after(this.#options.connectTimeoutMs, () => {
        drop(this.#error('timeout', 'no WebSocket handshake in time'));
      });
      const connection: Connection = {
        socket,
        exchanges: new Map(),
        subscriptions: new Map(),
        onClose: new Set(),
        received: 0,
        garbage: 0,
        drop,
      };
      socket.onOpen(() => {
        cancel();
        resolve(connection);
      });
      socket.onMessage((data) => {
        if (!isLost) this.#receive(connection, data.toString('utf8'));
      });
      socket.onClose((reason, isTooLarge) => {
        if (isTooLarge) this.#failTooLarge(connection);
        lost(this.#error('unreachable', reason));
      });
    });
    return opening;
  }

  #send(
    connection: Connection,
    body: string,
    call: Pick<Exchange, 'ids' | 'resolve' | 'reject'> & { readonly signal: AbortSignal },
  ): void {
    const { ids, signal } = call;
    const end = (settle: () => void): void => {
      for (const id of ids) connection.exchanges.delete(id);
      signal.removeEventListener('abort', onAbort);
      settle();
    };
    const { received } = connection;
    const onAbort = (): void => {
      const { reason } = signal;
      end(() => call.reject(reason as Error));
      // Not a word since this was sent: the peer is gone, and nobody else would notice before TCP does.
      const dead =
        reason instanceof SourceError && reason.type.code === 'timeout' && connection.received === received;
      if (dead) connection.drop(reason);
    };
    const exchange: Exchange = {
      ids,
      answers: new Map(),
      resolve: (json) => end(() => call.resolve(json)),
      reject: (error) => end(() => call.reject(error)),
    };
    if (!connection.socket.isOpen) {
      exchange.reject(this.#error('unreachable', 'the connection was lost'));
      return;
    }
    for (const id of ids) connection.exchanges.set(id, exchange);
    signal.addEventListener('abort', onAbort, { once: true });
    connection.socket.send(body);
  }

  #receive(connection: Connection, text: string): void {
    connection.received += 1;
    if (text.length > this.#options.maxResponseBytes) {
      const id = Number(ID_NEAR_START.exec(text.slice(0, 256))?.[1]);
      const what = `an answer of more than ${this.#options.maxResponseBytes} bytes`;
      connection.exchanges.get(id)?.reject(this.#error('tooLarge', what));
      return;
    }
    const parsed = parseJson(text, this.#options.maxResponseBytes);
    if ('value' in parsed) {
      connection.garbage = 0;
      deliver(connection, parsed.value);
      return;
    }
    // It belongs to no call, so no call on this connection can be trusted to get its own.
    const garbage = this.#error('garbage', `${parsed.refusal}: ${text.slice(0, 80)}`);
    for (const exchange of new Set(connection.exchanges.values())) exchange.reject(garbage);
    connection.garbage += 1;
    if (connection.garbage >= MAX_GARBAGE) connection.drop(garbage);
  }

  /** An answer was too large even to be looked at: whose it was is only known where nothing else waits. */
  #failTooLarge({ exchanges }: Connection): void {
    const waiting = new Set(exchanges.values());
    const tooLarge = this.#error(
      'tooLarge',
      `an answer of more than ${this.#options.maxResponseBytes} bytes`,
    );
    for (const exchange of waiting) {
      // A batch goes out again in parts, which harms nobody; a single call may be asked again.
      if (waiting.size === 1 || exchange.ids.length > 1) exchange.reject(tooLarge);
    }
  }

  #error(code: SourceErrorCode, what: string): SourceError {
    const { name, scrub } = this.#endpoint;
    return new SourceError({ code, upstream: name }, `${name}: ${scrub(what)}`);
  }
}
