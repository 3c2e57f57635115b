import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, ListenOptions } from 'node:net';
import { type Answer, Answerer, type AnswererModules } from './answerer.ts';
import { AT_LEAST_HEADER } from './at-least.ts';
import { disconnectSignal } from './disconnect.ts';
import type { Caller } from './dispatcher.ts';
import { type RpcError, RpcFailure, toRpcError } from './error-map.ts';
import { byteLength, errorEntry, type ResponseBody } from './framing.ts';
import { PlainFront } from './plain-front.ts';
import { ResponseHeads } from './response-head.ts';
import { type WebSocketModules, WsServer, wantsWebSocket } from './ws-server.ts';

export interface HttpServerOptions {
  /** `hybrid` reads plain requests itself and leaves the others to node:http; the answers are the same. */
  readonly front: 'hybrid' | 'node';
  readonly host: string;
  readonly port: number;
  /** Several threads listen on one port; the kernel spreads connections over them. */
  readonly reusePort: boolean;
  readonly maxBodyBytes: number;
  readonly maxConnections: number;
  /** Requests of all connections being worked on at the same time. */
  readonly maxInFlight: number;
  readonly headersTimeoutMs: number;
  /** For the whole request to arrive. */
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** What closing waits for before it cuts connections. */
  readonly drainTimeoutMs: number;
  /** Browsers of any origin may read: right for what needs no credential. */
  readonly allowAnyOrigin: boolean;
}

export interface HttpServerModules extends AnswererModules {
  /** Without it, nothing is upgraded. */
  readonly websocket?: WebSocketModules;
}

/** A listener that serves JSON-RPC. */
export interface HttpServer {
  readonly address: AddressInfo;
  /** Stops listening, lets requests under way finish, then closes. */
  close(): Promise<void>;
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
const CHECK_INTERVAL_MS = 1_000;

/** Starts one HTTP listener. */
export async function createHttpServer(
  options: HttpServerOptions,
  modules: HttpServerModules,
): Promise<HttpServer> {
  const answerer = new Answerer(options, modules);
  const heads = new ResponseHeads(options);
  const endpoint = new HttpEndpoint(options, answerer, heads);
  const { websocket } = modules;
  const streams = websocket && new WsServer(options.maxBodyBytes, answerer, websocket);
  const server = createServer(
    {
      headersTimeout: options.headersTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      maxHeaderSize: 16_384,
      noDelay: true,
      shouldUpgradeCallback: (request) => streams !== undefined && wantsWebSocket(request),
    },
    (request, response) => endpoint.serve(request, response),
  );
  server.maxConnections = options.maxConnections;
  if (streams !== undefined) server.on('upgrade', streams.upgrade);
  const front =
    options.front === 'hybrid'
      ? new PlainFront(server, { ...options, checkIntervalMs: CHECK_INTERVAL_MS }, { answerer, heads })
      : undefined;
  await listen(server, { host: options.host, port: options.port, reusePort: options.reusePort });
  return {
    address: server.address() as AddressInfo,
    close: async () => {
      answerer.drain();
      await close(server, [front, streams], options.drainTimeoutMs);
      front?.stop();
    },
  };
}

/** Serves what node:http has read. */
class HttpEndpoint {
  readonly #options: HttpServerOptions;
  readonly #answerer: Answerer;
  readonly #heads: ResponseHeads;

  constructor(options: HttpServerOptions, answerer: Answerer, heads: ResponseHeads) {
    this.#options = options;
    this.#answerer = answerer;
    this.#heads = heads;
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== 'POST') {
      this.#serveOther(request, response);
      return;
    }
    const type = request.headers['content-type'];
    if (type === undefined || !JSON_TYPE.test(type)) {
      this.#refuse(request, response, 415, 'content type must be application/json');
      return;
    }
    const { maxBodyBytes } = this.#options;
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) {
      this.#tooLarge(request, response);
      return;
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBodyBytes) chunks.push(chunk);
      else if (!response.headersSent) this.#tooLarge(request, response);
    });
    request.on('end', () => {
      if (bytes > maxBodyBytes) return;
      const [first] = chunks;
      const body = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
      this.#answer(body, request, response);
    });
    // A client that breaks off mid-body has no answer to wait for.
    request.on('error', () => response.destroy());
  }

  #answer(body: Buffer, { headers, socket }: IncomingMessage, response: ServerResponse): void {
    const caller: Caller = {
      // Of several, node makes one value with commas, which is malformed like any other.
      atLeast: headers[AT_LEAST_HEADER]?.toString(),
      get signal(): AbortSignal {
        return disconnectSignal(socket);
      },
    };
    const answer = this.#answerer.answer(body, caller);
    if (answer instanceof Promise) void answer.then((later) => this.#respond(response, later));
    else this.#respond(response, answer);
  }

  #respond(response: ServerResponse, answer: Answer | undefined): void {
    if (answer === undefined) {
      response.destroy();
      return;
    }
    if (this.#answerer.draining) response.shouldKeepAlive = false;
    const { status, body, snapshot } = answer;
    if (body === undefined) {
      response.writeHead(status, [...this.#heads.headers(status, undefined, snapshot)]).end();
    } else {
      this.#send(response, status, body, this.#heads.headers(status, String(byteLength(body)), snapshot));
    }
  }

  #send(response: ServerResponse, status: number, body: ResponseBody, headers: readonly string[]): void {
    response.writeHead(status, [...headers]);
    if (typeof body === 'string') {
      response.end(body);
      return;
    }
    // Corked, the pieces leave in one system call.
    response.cork();
    for (const piece of body) response.write(piece);
    response.end();
    response.uncork();
  }

  #serveOther(request: IncomingMessage, response: ServerResponse): void {
    if (request.method === 'OPTIONS' && this.#options.allowAnyOrigin) {
      response.writeHead(204, [...this.#heads.preflight()]).end();
      request.resume();
      return;
    }
    this.#refuse(request, response, 405, 'use POST with a JSON-RPC 2.0 body', ['allow', 'POST, OPTIONS']);
  }

  #refuse(
    request: IncomingMessage,
    response: ServerResponse,
    status: number,
    reason: string,
    headers: readonly string[] = [],
  ): void {
    this.#sendError(
      response,
      status,
      toRpcError(new RpcFailure({ code: 'INVALID_REQUEST', reason })),
      headers,
    );
    request.resume();
  }

  /** Answers before the body is read to its end, so the connection cannot be used again. */
  #tooLarge(request: IncomingMessage, response: ServerResponse): void {
    const failure = new RpcFailure({ code: 'BODY_TOO_LARGE', maxBytes: this.#options.maxBodyBytes });
    this.#sendError(response, 413, toRpcError(failure), ['connection', 'close']);
    request.resume();
  }

  /** Says what is wrong with a request that never got as far as a snapshot. */
  #sendError(response: ServerResponse, status: number, error: RpcError, extra: readonly string[]): void {
    const body = errorEntry('null', error);
    const headers = this.#heads.headers(status, String(byteLength(body)), undefined);
    this.#send(response, status, body, headers.concat(extra));
  }
}

function listen(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** What has connections of the server's that node:http does not know of. */
interface Front {
  drain(): void;
  destroyAll(): void;
}

async function close(
  server: Server,
  fronts: readonly (Front | undefined)[],
  drainTimeoutMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  for (const front of fronts) front?.drain();
  const timer = setTimeout(() => {
    server.closeAllConnections();
    for (const front of fronts) front?.destroyAll();
  }, drainTimeoutMs);
  await closed;
  clearTimeout(timer);
}
