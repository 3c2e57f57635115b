import type { Socket } from 'node:net';

const signals = new WeakMap<Socket, AbortSignal>();

/**
 * Aborts when the client closes its connection. A connection carries one request after another, so they share
 * one signal, made when a method first asks: most answers are ready before they could be aborted.
 */
export function disconnectSignal(socket: Socket): AbortSignal {
  if (socket.destroyed) return AbortSignal.abort();
  const known = signals.get(socket);
  if (known !== undefined) return known;
  const controller = new AbortController();
  socket.once('close', () => controller.abort());
  signals.set(socket, controller.signal);
  return controller.signal;
}

/** The remote address of a connection, by which its requests are counted as one client's. */
export function addressOf(socket: Socket): string {
  return socket.remoteAddress ?? 'unknown';
}
