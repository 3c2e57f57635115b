import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Options } from '../../config/table.ts';
import type { StreamMetrics } from '../../subscriptions/metrics.ts';
import type { Subscriber } from '../../subscriptions/session.ts';
import { WsConnection, type WsConnectionModules, type WsConnectionOptions } from './connection.ts';

export interface WebSocketOptions extends WsConnectionOptions {
  /** How often clients are asked for a sign of life. */
  readonly pingIntervalMs: number;
  /** How long they have to give it. */
  readonly pongTimeoutMs: number;
  /** How long a client has to take what was sent and close, once it is told to. */
  readonly closeTimeoutMs: number;
}

type TableOptions = Pick<Options, 'wsQueueBytes' | 'wsRequests' | 'wsPingMs' | 'wsPongMs' | 'wsCloseMs'>;

/** Takes what connections need from the table of options. */
export function webSocketOptions(options: TableOptions): WebSocketOptions {
  return {
    maxQueuedBytes: options.wsQueueBytes,
    maxConcurrent: options.wsRequests,
    pingIntervalMs: options.wsPingMs,
    pongTimeoutMs: options.wsPongMs,
    closeTimeoutMs: options.wsCloseMs,
  };
}

export interface WebSocketModules {
  readonly options: WebSocketOptions;
  readonly subscriber: Subscriber;
  readonly metrics: StreamMetrics;
}

/** Parts in which a message may arrive: frames of one message, and pieces of one frame. Each part costs a buffer. */
const MAX_FRAGMENTS = 1_024;
const MAX_PIECES = 8_192;
const UNAVAILABLE = 'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/** Whether a request asks for what this listener can become. Other upgrades are declined by answering as usual. */
export function wantsWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}

type WsServerModules = WebSocketModules & Omit<WsConnectionModules, 'principal' | 'address'>;

/** The WebSocket half of a listener: connections that node:http hands over. */
export class WsServer {
  readonly #modules: WsServerModules;
  readonly #server: WebSocketServer;
  readonly #connections = new Set<WsConnection>();
  readonly #pinging: NodeJS.Timeout;
  #checking: NodeJS.Timeout | undefined;

  constructor(maxBodyBytes: number, modules: WsServerModules) {
    const { pingIntervalMs, closeTimeoutMs } = modules.options;
    this.#modules = modules;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: maxBodyBytes,
      // It would cost each connection hundreds of kilobytes.
      perMessageDeflate: false,
      closeTimeout: closeTimeoutMs,
      // Answered by the connection, which looks whether the client reads.
      autoPong: false,
      maxFragments: MAX_FRAGMENTS,
      maxBufferedChunks: MAX_PIECES,
    } as ConstructorParameters<typeof WebSocketServer>[0]);
    this.#pinging = setInterval(() => this.#ping(), pingIntervalMs);
    this.#pinging.unref();
    modules.metrics.measure(this);
  }

  /** Takes a connection over. */
  readonly upgrade = (
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    client: Pick<WsConnectionModules, 'principal' | 'address'>,
  ): void => {
    const { options, answerer } = this.#modules;
    if (answerer.draining) {
      socket.end(UNAVAILABLE);
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      const modules = { ...this.#modules, ...client };
      const connection = new WsConnection(ws, socket as Socket, options, modules);
      this.#connections.add(connection);
      ws.on('close', () => this.#connections.delete(connection));
    });
  };

  queuedBytes(): readonly number[] {
    return [...this.#connections].map(({ queuedBytes }) => queuedBytes);
  }

  /** Closes connections as soon as they have no request under way. */
  drain(): void {
    clearInterval(this.#pinging);
    clearTimeout(this.#checking);
    for (const connection of this.#connections) connection.drain();
  }

  /** Closes those who may not ask any more, and has the others go by what they may do now. */
  recheck(): void {
    for (const connection of this.#connections) connection.recheck();
  }

  /** Cuts every connection, whatever it is doing. */
  destroyAll(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  #ping(): void {
    const asked = [...this.#connections];
    for (const connection of asked) connection.ping();
    this.recheck();
    clearTimeout(this.#checking);
    const { pongTimeoutMs, pingIntervalMs } = this.#modules.options;
    this.#checking = setTimeout(
      () => {
        for (const connection of asked) connection.checkAlive();
      },
      Math.min(pongTimeoutMs, pingIntervalMs - 1),
    );
    this.#checking.unref();
  }
}
