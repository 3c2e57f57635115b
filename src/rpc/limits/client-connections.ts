import type { Socket } from 'node:net';
import { Shares } from '../../primitives/shares.ts';
import { type ClientAddresses, isLoopback, networkOf } from './client-address.ts';
import { addressOf } from './connection.ts';

export interface ClientConnectionsOptions {
  readonly maxConnections: number;
  /** Whether those on this machine count as clients like others. */
  readonly limitLoopback?: boolean;
}

/** The connections of a listener by client: of as many as there may be, one has half at most. */
export class ClientConnections {
  readonly #places: Shares;
  readonly #limitLoopback: boolean;
  readonly #addresses: ClientAddresses;

  constructor(
    { maxConnections, limitLoopback = false }: ClientConnectionsOptions,
    addresses: ClientAddresses,
  ) {
    this.#places = Shares.ofPlaces(maxConnections);
    this.#limitLoopback = limitLoopback;
    this.#addresses = addresses;
  }

  /** Takes a place until the socket closes; false when its client has too many. A proxy that is trusted is no client. */
  admit(socket: Socket): boolean {
    const peer = addressOf(socket);
    if (this.#addresses.trusts(peer) || (!this.#limitLoopback && isLoopback(peer))) return true;
    const client = networkOf(peer);
    if (!this.#places.take(client, 1)) return false;
    socket.once('close', () => this.#places.give(client, 1));
    return true;
  }
}

const TOO_MANY =
  'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';
/** How long a client that is refused has to hear so. */
const GOODBYE_MS = 1_000;

/** Tells a client that it has too many connections, and closes this one. */
export function refuseConnection(socket: Socket): void {
  socket.on('error', () => undefined);
  // Unread bytes would have the system reset the connection before the client has read why.
  socket.resume();
  socket.end(TOO_MANY);
  const timer = setTimeout(() => socket.destroy(), GOODBYE_MS);
  socket.once('close', () => clearTimeout(timer));
}
