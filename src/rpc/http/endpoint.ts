import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { andThen } from '../../primitives/awaitable.ts';
import { writeBytes } from '../../primitives/owned-bytes.ts';
import type { Refusal } from '../../telemetry/refusal-counter.ts';
import { credentialOf } from '../auth/authenticator.ts';
import type { Gate } from '../auth/gate.ts';
import type { Principal } from '../auth/grant.ts';
import type { Answerer } from '../dispatch/answerer.ts';
import { AT_LEAST_HEADER } from '../dispatch/at-least.ts';
import { type RpcError, RpcFailure, toRpcError } from '../dispatch/error-map.ts';
import { byteLength, errorEntry, type ResponseBody } from '../dispatch/framing.ts';
import type { RpcResponse } from '../dispatch/response.ts';
import type { Caller } from '../dispatch/task.ts';
import type { AccessPolicy } from '../limits/access.ts';
import { type ClientAddresses, FORWARDED_HEADER } from '../limits/client-address.ts';
import type { ClientMemory } from '../limits/client-memory.ts';
import { disconnectSignal } from '../limits/connection.ts';
import { ArrivingBytes } from './arriving-bytes.ts';
import { requestIdOf, TRACEPARENT_HEADER } from './client-request-id.ts';
import type { Compressor } from './compression.ts';
import { HttpConnection } from './connection.ts';
import { ownHeaders, type ResponseHeads } from './response-head.ts';

export interface EndpointOptions {
  readonly maxBodyBytes: number;
  /** Browsers of any origin may read. */
  readonly allowAnyOrigin: boolean;
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
/** Pieces of a body, as chunked coding or the network cut it: any so many, and more if they hold this much on average. */
const FREE_PIECES = 1_024;
const LEAST_PIECE_BYTES = 64;

interface EndpointModules {
  readonly memory: ClientMemory;
  readonly answerer: Answerer;
  readonly heads: ResponseHeads;
  readonly access: AccessPolicy;
  readonly gate: Gate | undefined;
  readonly addresses: ClientAddresses;
  readonly compressor: Compressor;
  readonly onRefused: (reason: Refusal) => void;
}

/** Serves what node:http has read. */
export class HttpEndpoint {
  readonly #options: EndpointOptions;
  readonly #answerer: Answerer;
  readonly #heads: ResponseHeads;
  readonly #memory: ClientMemory;
  readonly #access: AccessPolicy;
  readonly #gate: Gate | undefined;
  readonly #addresses: ClientAddresses;
  readonly #compressor: Compressor;
  readonly #onRefused: (reason: Refusal) => void;
  readonly #connections = new WeakMap<Socket, HttpConnection>();

  constructor(options: EndpointOptions, modules: EndpointModules) {
    this.#options = options;
    this.#answerer = modules.answerer;
    this.#heads = modules.heads;
    this.#memory = modules.memory;
    this.#access = modules.access;
    this.#gate = modules.gate;
    this.#addresses = modules.addresses;
    this.#compressor = modules.compressor;
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
    void andThen(gate?.admit(credentialOf(request.headersDistinct, request.url)), (principal) => {
      if (gate === undefined || principal !== undefined) this.#read(request, response, connection, principal);
      else {
        void this.#answerer.unauthorized().then((answer) => this.#respond(response, answer));
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
      requestId: requestIdOf(headers),
      traceparent: headers[TRACEPARENT_HEADER]?.toString(),
      get signal(): AbortSignal {
        return disconnectSignal(socket);
      },
      client: this.#addresses.of(connection.peer, headers[FORWARDED_HEADER]?.toString()),
    };
    const accepted = headers['accept-encoding']?.toString();
    const answer = this.#compressor.pack(this.#answerer.answer(body, caller), accepted);
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
    const { status, body, snapshot } = answer;
    const own = ownHeaders(answer, requestIdOf(response.req.headers));
    const length = body && String(byteLength(body));
    const headers = this.#heads.headers(status, length, snapshot, own);
    if (body === undefined) response.writeHead(status, [...headers]).end();
    else this.#send(response, status, body, headers);
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
    const own = ownHeaders({}, requestIdOf(response.req.headers));
    const headers = this.#heads.headers(status, String(byteLength(body)), undefined, own);
    this.#send(response, status, body, headers.concat(extra));
  }
}
