import type { Clock } from './clock.ts';
import type { Endpoint } from './endpoint.ts';
import { SourceError, type SourceErrorCode } from './errors.ts';
import { encodeCall, readAnswer, toSourceError } from './json-rpc.ts';
import type { Subscribe, Transport, TransportOptions } from './transport.ts';
import { type Connection, deliver, type Exchange } from './ws-connection.ts';

export interface WsTransportOptions extends TransportOptions {
  readonly connectTimeoutMs: number;
}

/** Ids of our own subscriptions, out of the way of the caller's. */
const FIRST_OWN_ID = 2 ** 40;
/** Where an answer that is too large to parse names the call it belongs to. */
const ID_NEAR_START = /^\s*\[?\s*\{[^{}[\]]*?"id"\s*:\s*(\d+)/;

/**
 * JSON-RPC over one WebSocket, opened when first needed and again after it broke. Node's own client does: it frames,
 * inflates, answers pings and stops at 128 MiB a message; it hides why a handshake failed, which reads as unreachable.
 */
export class WsTransport implements Transport {
  readonly #endpoint: Endpoint;
  readonly #options: WsTransportOptions;
  readonly #clock: Clock;
  #connection: Promise<Connection> | undefined;
  #nextId = FIRST_OWN_ID;
  #closed = false;

  constructor(endpoint: Endpoint, options: WsTransportOptions, clock: Clock) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#clock = clock;
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
        if (name !== undefined && connection.socket.readyState === WebSocket.OPEN) {
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
    this.#connection = undefined;
  }

  close(): void {
    this.#closed = true;
    this.reset();
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
    const { url, headers } = this.#endpoint;
    const socket = new WebSocket(url, { headers });
    socket.binaryType = 'arraybuffer';
    const opening = new Promise<Connection>((resolve, reject) => {
      const lost = (error: SourceError): void => {
        cancel();
        if (this.#connection === opening) this.#connection = undefined;
        reject(error);
        for (const exchange of new Set(connection.exchanges.values())) exchange.reject(error);
        for (const tell of [...connection.onClose]) tell(error);
      };
      const drop = (error: SourceError): void => {
        lost(error);
        socket.close();
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
        drop,
      };
      socket.addEventListener('open', () => {
        cancel();
        resolve(connection);
      });
      socket.addEventListener('message', ({ data }) => this.#receive(connection, data as unknown));
      // The 'error' before it says nothing at all.
      socket.addEventListener('close', ({ code }) => {
        lost(this.#error('unreachable', `no WebSocket connection (${code})`));
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
    if (connection.socket.readyState !== WebSocket.OPEN) {
      exchange.reject(this.#error('unreachable', 'the connection was lost'));
      return;
    }
    for (const id of ids) connection.exchanges.set(id, exchange);
    signal.addEventListener('abort', onAbort, { once: true });
    connection.socket.send(body);
  }

  #receive(connection: Connection, data: unknown): void {
    connection.received += 1;
    const text = typeof data === 'string' ? data : Buffer.from(data as ArrayBuffer).toString('utf8');
    if (text.length > this.#options.maxResponseBytes) {
      const id = Number(ID_NEAR_START.exec(text.slice(0, 256))?.[1]);
      const what = `an answer of more than ${this.#options.maxResponseBytes} bytes`;
      connection.exchanges.get(id)?.reject(this.#error('tooLarge', what));
      return;
    }
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      // It belongs to no call, so no call on this connection can be trusted to get its own.
      const garbage = this.#error('garbage', `not JSON: ${text.slice(0, 80)}`);
      for (const exchange of new Set(connection.exchanges.values())) exchange.reject(garbage);
      return;
    }
    deliver(connection, json);
  }

  #error(code: SourceErrorCode, what: string): SourceError {
    const { name, scrub } = this.#endpoint;
    return new SourceError({ code, upstream: name }, `${name}: ${scrub(what)}`);
  }
}
