import {
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Endpoint } from '../../config/parsers.ts';
import { isLoopbackHost } from '../limits/access.ts';
import { isLoopback } from '../limits/client-address.ts';

/** An endpoint of this node that the playground may ask. */
export interface RpcTarget extends Endpoint {
  readonly tls: boolean;
}

const MAX_REQUESTS = 16;
const MAX_SOCKETS = 16;
const ANSWER_TIMEOUT_MS = 30_000;

/** What a client may tell an endpoint, and hear of it; nothing that says where it comes from passes. */
const HEADERS_IN = ['content-type', 'content-length', 'x-api-key', 'authorization', 'x-chain-at-least'];
const HEADERS_OUT = [
  ...['content-type', 'content-length', 'retry-after'],
  ...['x-chain-head', 'x-chain-pending', 'x-chain-source'],
];
const WEBSOCKET_IN = ['sec-websocket-key', 'sec-websocket-version'];

/**
 * Passes requests of the dashboard's own page on to an endpoint of this node, over its listener.
 *
 * Why not CORS on the endpoints: a dedicated endpoint that serves without a key on loopback is kept from pages by exactly that check, and a
 * name for one page would have to be right behind every proxy and tunnel. Why over the listener, and not into a dispatcher: so a
 * request of the playground has the limits, the checks and the counts of any other client. It gains nothing by coming this way: an
 * endpoint that wants a key wants it here, too, and this listener knows none. Who may use it is decided before (server.ts): pages of this
 * very listener. One thing would be gained: what listens on loopback alone, where it may want no key, would be reached from
 * wherever this listener is. So it is asked for who is on this machine alone.
 */
export class RpcPasser {
  readonly #targets: () => Readonly<Record<string, RpcTarget>>;
  readonly #sockets = new Set<Duplex>();
  #requests = 0;

  constructor(targets: () => Readonly<Record<string, RpcTarget>>) {
    this.#targets = targets;
  }

  /** Passes `POST /rpc/<endpoint>` on. */
  pass(request: IncomingMessage, response: ServerResponse, path: string): void {
    const place = this.#placeOf(path);
    const refuse = (status: number, text: string): void => {
      // What is left of the body is not read.
      response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${text}\n`);
    };
    if (place === undefined) {
      refuse(404, 'there is no such endpoint');
      return;
    }
    if (!isWithinReach(place, request.socket.remoteAddress)) {
      refuse(403, 'this endpoint is on loopback, for who is on its machine or comes by a tunnel');
      return;
    }
    if (this.#requests >= MAX_REQUESTS) {
      refuse(503, 'too many requests of dashboards are under way');
      return;
    }
    this.#requests++;
    const asked = ask(place, 'POST', picked(request.headers, HEADERS_IN));
    asked.setTimeout(ANSWER_TIMEOUT_MS, () => asked.destroy(new Error('no answer in time')));
    response.on('close', () => {
      this.#requests--;
      asked.destroy();
    });
    asked.on('error', () => {
      if (response.headersSent) response.destroy();
      else refuse(502, 'the endpoint does not answer');
    });
    asked.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, picked(answer.headers, HEADERS_OUT));
      answer.pipe(response);
    });
    request.pipe(asked);
  }

  /** Passes a WebSocket connection to `/rpc/<endpoint>` on; both ends wait for each other, so nothing piles up in between. */
  upgrade(request: IncomingMessage, socket: Duplex, path: string): void {
    socket.on('error', () => socket.destroy());
    const place = this.#placeOf(path);
    if (place === undefined) {
      refuseSocket(socket, 404);
      return;
    }
    if (!isWithinReach(place, request.socket.remoteAddress)) {
      refuseSocket(socket, 403);
      return;
    }
    if (this.#sockets.size >= MAX_SOCKETS) {
      refuseSocket(socket, 503);
      return;
    }
    this.#sockets.add(socket);
    const headers = picked(request.headers, WEBSOCKET_IN);
    const asked = ask(place, 'GET', { ...headers, connection: 'Upgrade', upgrade: 'websocket' });
    socket.on('close', () => {
      this.#sockets.delete(socket);
      asked.destroy();
    });
    asked.setTimeout(ANSWER_TIMEOUT_MS, () => asked.destroy(new Error('no answer in time')));
    asked.on('error', () => refuseSocket(socket, 502));
    asked.on('response', ({ statusCode = 502 }) => refuseSocket(socket, statusCode));
    asked.on('upgrade', (answer, other, head) => {
      other.setTimeout(0);
      other.on('error', () => socket.destroy());
      other.on('close', () => socket.destroy());
      socket.on('close', () => other.destroy());
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${answer.headers['sec-websocket-accept'] ?? ''}\r\n\r\n`,
      );
      socket.write(head);
      other.pipe(socket);
      socket.pipe(other);
    });
    asked.end();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** `/rpc/<endpoint>`, and behind it a key, where a browser can send it in no other way. */
  #placeOf(path: string): (RpcTarget & { readonly path: string }) | undefined {
    const [, name = '', key] = /^\/rpc\/([\w-]+)(\/[\w.~-]+)?$/.exec(path) ?? [];
    const targets = this.#targets();
    const target = Object.hasOwn(targets, name) ? targets[name] : undefined;
    return target && { ...target, path: key ?? '/' };
  }
}

/** Whether who comes from this address could ask the endpoint itself, as far as that is a matter of where it listens. */
export function isWithinReach({ host }: Endpoint, from: string | undefined): boolean {
  return !isLoopbackHost(host) || (from !== undefined && isLoopback(from));
}

function ask(
  { host, port, path, tls }: RpcTarget & { readonly path: string },
  method: string,
  headers: IncomingHttpHeaders,
): ClientRequest {
  // A listener of this very process: it is known who answers there, whatever its certificate is for.
  const there = { host: reachable(host), port, path, method, headers, agent: false };
  return tls ? httpsRequest({ ...there, rejectUnauthorized: false }) : httpRequest(there);
}

/** What listens everywhere is reached on loopback. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

function picked(headers: IncomingHttpHeaders, names: readonly string[]): IncomingHttpHeaders {
  return Object.fromEntries(names.flatMap((name) => (name in headers ? [[name, headers[name]]] : [])));
}

/** Ends a connection that wanted to be a WebSocket. */
export function refuseSocket(socket: Duplex, status: number): void {
  if (!socket.writable) return;
  socket.end(`HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
