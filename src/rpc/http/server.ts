import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, ListenOptions, Socket } from 'node:net';
import { andThen } from '../../primitives/awaitable.ts';
import { writeBytes } from '../../primitives/owned-bytes.ts';
import type { Refusal } from '../../telemetry/refusal-counter.ts';
import { credentialOf } from '../auth/authenticator.ts';
import type { Gate } from '../auth/gate.ts';
import type { Principal } from '../auth/grant.ts';
import { Answerer, type AnswererModules } from '../dispatch/answerer.ts';
import { AT_LEAST_HEADER } from '../dispatch/at-least.ts';
import { type RpcError, RpcFailure, toRpcError } from '../dispatch/error-map.ts';
import { byteLength, errorEntry, type ResponseBody } from '../dispatch/framing.ts';
import type { RpcResponse } from '../dispatch/response.ts';
import type { Caller } from '../dispatch/task.ts';
import { AccessPolicy } from '../limits/access.ts';
import { ClientAddresses, FORWARDED_HEADER } from '../limits/client-address.ts';
import type { ClientMemory } from '../limits/client-memory.ts';
import { disconnectSignal } from '../limits/connection.ts';
import { type ConnectionBudget, gateConnections } from '../limits/connection-budget.ts';
import { type WebSocketModules, WsServer, wantsWebSocket } from '../ws/server.ts';
import { ArrivingBytes } from './arriving-bytes.ts';
import { HttpConnection } from './connection.ts';
import { PlainFront } from './plain-front.ts';
import { refusalText, wholeText } from './refusal-text.ts';
import { ResponseHeads } from './response-head.ts';

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
  /** Further names by which a listener on loopback may be asked, and whose pages may ask one that not every page may. */
  readonly allowedHosts?: readonly string[];
}

export interface HttpServerModules extends AnswererModules {
  readonly memory: ClientMemory;
  /** Asks for keys; without it, nobody needs one. */
  readonly gate?: Gate | undefined;
  /** Who clients are behind proxies; without it, proxies are clients like others. */
  readonly addresses?: ClientAddresses | undefined;
  /** Without it, nothing is upgraded. */
  readonly websocket?: WebSocketModules;
  /** What all listeners of the process share. */
  readonly connections?: ConnectionBudget | undefined;
}

/** A listener that serves JSON-RPC. */
export interface HttpServer {
  readonly address: AddressInfo;
  /** Closes the connections of those who may not ask any more. */
  recheck(): void;
  /** Stops listening, lets requests under way finish, then closes. */
  close(): Promise<void>;
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
const CHECK_INTERVAL_MS = 1_000;
/** Pieces of a body, as chunked coding or the network cut it: any so many, and more if they hold this much on average. */
const FREE_PIECES = 1_024;
const LEAST_PIECE_BYTES = 64;

/** Starts one HTTP listener. */
export async function createHttpServer(
  options: HttpServerOptions,
  modules: HttpServerModules,
): Promise<HttpServer> {
  const answerer = new Answerer(options, modules);
  const heads = new ResponseHeads(options);
  const { host, allowedHosts = [], allowAnyOrigin } = options;
  const access = new AccessPolicy({ host, allowedHosts, anyOrigin: allowAnyOrigin });
  const { websocket, memory, gate, onRefused = () => undefined, addresses = new ClientAddresses() } = modules;
  const shared = { answerer, heads, memory, access, gate, addresses };
  const endpoint = new HttpEndpoint(options, { ...shared, onRefused });
  const streams = websocket && new WsServer(options.maxBodyBytes, { ...websocket, ...shared });
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
  server.on('drop', () => onRefused('connections'));
  server.on('connection', (socket) => endpoint.connect(socket));
  server.on('upgrade', (request, socket, head) => {
    endpoint.leave(request.socket);
    const refused = access.refusal(request.headers) ?? (answerer.draining ? 'draining' : undefined);
    if (refused !== undefined) onRefused(refused);
    if (refused !== undefined && refused !== 'draining') {
      socket.end(refusalText(heads, refused));
      return;
    }
    // While it is found out who that is, nobody else hears that the connection broke.
    const onError = (): unknown => socket.destroy();
    socket.on('error', onError);
    void andThen(gate?.admit(credentialOf(request.headers, request.url)), (principal) => {
      socket.off('error', onError);
      if (gate === undefined || principal !== undefined) streams?.upgrade(request, socket, head, principal);
      else socket.end(wholeText(heads, answerer.unauthorized()));
    });
  });
  const front =
    options.front === 'hybrid'
      ? new PlainFront(server, { ...options, checkIntervalMs: CHECK_INTERVAL_MS }, shared)
      : undefined;
  const { connections } = modules;
  if (connections !== undefined) {
    gateConnections(server, (socket) => {
      const isAdmitted = connections.admit(socket);
      if (!isAdmitted) onRefused('descriptors');
      return isAdmitted;
    });
  }
  await listen(server, { host: options.host, port: options.port, reusePort: options.reusePort });
  const address = server.address() as AddressInfo;
  access.boundTo(address.address);
  return {
    address,
    recheck: () => streams?.recheck(),
    close: async () => {
      answerer.drain();
      await close(server, [front, streams], options.drainTimeoutMs);
      front?.stop();
    },
  };
}

interface EndpointModules {
  readonly memory: ClientMemory;
  readonly answerer: Answerer;
  readonly heads: ResponseHeads;
  readonly access: AccessPolicy;
  readonly gate: Gate | undefined;
  readonly addresses: ClientAddresses;
  readonly onRefused: (reason: Refusal) => void;
}

/** Serves what node:http has read. */
class HttpEndpoint {
  readonly #options: HttpServerOptions;
  readonly #answerer: Answerer;
  readonly #heads: ResponseHeads;
  readonly #memory: ClientMemory;
  readonly #access: AccessPolicy;
  readonly #gate: Gate | undefined;
  readonly #addresses: ClientAddresses;
  readonly #onRefused: (reason: Refusal) => void;
  readonly #connections = new WeakMap<Socket, HttpConnection>();

  constructor(options: HttpServerOptions, modules: EndpointModules) {
    this.#options = options;
    this.#answerer = modules.answerer;
    this.#heads = modules.heads;
    this.#memory = modules.memory;
    this.#access = modules.access;
    this.#gate = modules.gate;
    this.#addresses = modules.addresses;
    this.#onRefused = modules.onRefused;
  }

  /** Takes note of a connection that node:http reads. */
  connect(socket: Socket): HttpConnection {
    const connection = new HttpConnection(socket, this.#memory);
    this.#connections.set(socket, connection);
    return connection;
  }

  /** The connection is no more one of requests and answers. */
  leave(socket: Socket): void {
    this.#connections.get(socket)?.leave();
  }

  /** Serves a request, after those that came before it. */
  serve(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket) ?? this.connect(request.socket);
    connection.take(response, () => this.#serve(request, response, connection));
  }

  #serve(request: IncomingMessage, response: ServerResponse, connection: HttpConnection): void {
    const by = this.#access.refusal(request.headers);
    if (by !== undefined) {
      this.#onRefused(by);
      this.#sendError(response, 403, toRpcError(new RpcFailure({ code: 'ACCESS_REFUSED', by })), []);
      request.resume();
      return;
    }
    if (request.method !== 'POST') {
      this.#serveOther(request, response);
      return;
    }
    const gate = this.#gate;
    void andThen(gate?.admit(credentialOf(request.headers, request.url)), (principal) => {
      if (gate === undefined || principal !== undefined) this.#read(request, response, connection, principal);
      else {
        this.#respond(response, this.#answerer.unauthorized());
        request.resume();
      }
    });
  }

  #read(
    request: IncomingMessage,
    response: ServerResponse,
    connection: HttpConnection,
    principal: Principal | undefined,
  ): void {
    const type = request.headers['content-type'];
    if (type === undefined || !JSON_TYPE.test(type)) {
      this.#onRefused('type');
      this.#refuse(request, response, 415, 'content type must be application/json');
      return;
    }
    const { maxBodyBytes } = this.#options;
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) {
      this.#tooLarge(request, response);
      return;
    }
    const arrived = new ArrivingBytes();
    let bytes = 0;
    let pieces = 0;
    let isRefused = false;
    request.on('data', (chunk: Buffer) => {
      if (isRefused) return;
      bytes += chunk.length;
      pieces++;
      isRefused = bytes > maxBodyBytes || pieces > FREE_PIECES + bytes / LEAST_PIECE_BYTES;
      if (!isRefused) {
        arrived.push(chunk);
        connection.hasRead(arrived.capacity);
      } else if (bytes > maxBodyBytes) this.#tooLarge(request, response);
      else {
        const reason = 'the body comes in too small pieces';
        this.#onRefused('body');
        this.#refuse(request, response, 400, reason, ['connection', 'close']);
        // Reading the rest is what would cost.
        request.pause();
      }
    });
    request.on('end', () => {
      if (!isRefused) this.#answer(arrived.take(), request, response, connection, principal);
    });
    // A client that breaks off mid-body has no answer to wait for.
    request.on('error', () => response.destroy());
  }

  #answer(
    body: Buffer,
    { headers, socket }: IncomingMessage,
    response: ServerResponse,
    connection: HttpConnection,
    principal: Principal | undefined,
  ): void {
    const caller: Caller = {
      principal,
      // Of several, node makes one value with commas, which is malformed like any other.
      atLeast: headers[AT_LEAST_HEADER]?.toString(),
      get signal(): AbortSignal {
        return disconnectSignal(socket);
      },
      client: this.#addresses.of(connection.client, headers[FORWARDED_HEADER]?.toString()),
    };
    const answer = this.#answerer.answer(body, caller);
    const respond = (ready: RpcResponse | undefined): void => {
      this.#respond(response, ready);
      connection.hasWritten();
    };
    if (answer instanceof Promise) void answer.then(respond);
    else respond(answer);
  }

  #respond(response: ServerResponse, answer: RpcResponse | undefined): void {
    if (answer === undefined) {
      response.destroy();
      return;
    }
    if (this.#answerer.draining) response.shouldKeepAlive = false;
    const { status, body, snapshot, retryAfter } = answer;
    if (body === undefined) {
      response.writeHead(status, [...this.#heads.headers(status, undefined, snapshot)]).end();
    } else {
      const length = String(byteLength(body));
      this.#send(response, status, body, this.#heads.headers(status, length, snapshot, retryAfter));
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
    for (const piece of body) writeBytes(response, piece);
    response.end();
    response.uncork();
  }

  #serveOther(request: IncomingMessage, response: ServerResponse): void {
    if (request.method === 'OPTIONS' && this.#options.allowAnyOrigin) {
      response.writeHead(204, [...this.#heads.preflight()]).end();
      request.resume();
      return;
    }
    this.#onRefused('method');
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
    this.#onRefused('body');
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
