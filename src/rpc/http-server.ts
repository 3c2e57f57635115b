import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, ListenOptions, Socket } from 'node:net';
import { MethodError } from '../methods/errors.ts';
import type { Caller, Dispatcher, RpcResponse } from './dispatcher.ts';
import { type RpcError, RpcFailure, toRpcError } from './error-map.ts';
import { byteLength, errorEntry, type ResponseBody } from './framing.ts';

export interface HttpServerOptions {
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

export interface HttpServerModules {
  readonly dispatcher: Pick<Dispatcher, 'handle'>;
  /** Hears of what should never happen. */
  readonly onFault?: (error: unknown) => void;
}

/** A listener that serves JSON-RPC. */
export interface HttpServer {
  readonly address: AddressInfo;
  /** Stops listening, lets requests under way finish, then closes. */
  close(): Promise<void>;
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
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

/** Starts one HTTP listener. */
export async function createHttpServer(
  options: HttpServerOptions,
  modules: HttpServerModules,
): Promise<HttpServer> {
  const endpoint = new HttpEndpoint(options, modules);
  const server = createServer(
    {
      headersTimeout: options.headersTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 16_384,
      noDelay: true,
    },
    (request, response) => endpoint.serve(request, response),
  );
  server.maxConnections = options.maxConnections;
  await listen(server, { host: options.host, port: options.port, reusePort: options.reusePort });
  return {
    address: server.address() as AddressInfo,
    close: () => {
      endpoint.drain();
      return close(server, options.drainTimeoutMs);
    },
  };
}

class HttpEndpoint {
  readonly #options: HttpServerOptions;
  readonly #modules: HttpServerModules;
  readonly #cors: readonly string[];
  #inFlight = 0;
  #draining = false;

  constructor(options: HttpServerOptions, modules: HttpServerModules) {
    this.#options = options;
    this.#modules = modules;
    this.#cors = options.allowAnyOrigin ? CORS_HEADERS : [];
  }

  /** From here on every answer is the last of its connection. */
  drain(): void {
    this.#draining = true;
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
      this.#answer(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks), response);
    });
    // A client that breaks off mid-body has no answer to wait for.
    request.on('error', () => response.destroy());
  }

  #answer(body: Buffer, response: ServerResponse): void {
    if (this.#inFlight >= this.#options.maxInFlight) {
      const error = toRpcError(new MethodError({ code: 'OVERLOADED' }));
      this.#send(response, 503, errorEntry('null', error), ['retry-after', '1']);
      return;
    }
    const caller = new HttpCaller(response);
    const answer = this.#modules.dispatcher.handle(body, caller);
    if (!(answer instanceof Promise)) {
      this.#respond(response, answer);
      return;
    }
    this.#inFlight++;
    answer
      .then(
        (result) => this.#respond(response, result),
        (error: unknown) => {
          this.#modules.onFault?.(error);
          response.destroy();
        },
      )
      .finally(() => {
        this.#inFlight--;
      });
  }

  #respond(response: ServerResponse, { status, body }: RpcResponse): void {
    // Issue "every answer names its snapshot" (B3) adds x-chain-head here, from the response's snapshot.
    if (this.#draining) response.shouldKeepAlive = false;
    if (body === undefined) response.writeHead(status, [...this.#cors]).end();
    else this.#send(response, status, body, status === 503 ? ['retry-after', '1'] : []);
  }

  #send(response: ServerResponse, status: number, body: ResponseBody, extra: readonly string[]): void {
    const length = String(byteLength(body));
    const headers = ['content-type', 'application/json', 'content-length', length];
    response.writeHead(status, headers.concat(this.#cors, extra));
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
      response.writeHead(204, PREFLIGHT_HEADERS).end();
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

  #sendError(response: ServerResponse, status: number, error: RpcError, headers: readonly string[]): void {
    this.#send(response, status, errorEntry('null', error), headers);
  }
}

/**
 * Aborts when the client closes its connection. A connection carries one request after another, so they share
 * one signal, made when a method first asks: most answers are ready before they could be aborted.
 */
class HttpCaller implements Caller {
  static readonly #signals = new WeakMap<Socket, AbortSignal>();
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get signal(): AbortSignal {
    const { socket } = this.#response;
    if (socket === null || socket.destroyed) return AbortSignal.abort();
    const known = HttpCaller.#signals.get(socket);
    if (known !== undefined) return known;
    const controller = new AbortController();
    socket.once('close', () => controller.abort());
    HttpCaller.#signals.set(socket, controller.signal);
    return controller.signal;
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

async function close(server: Server, drainTimeoutMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), drainTimeoutMs);
  await closed;
  clearTimeout(timer);
}
