import type { Socket } from 'node:net';

/** Resolves when a connection is closed, however: also by a reset, which `once` would throw. */
export function closed(socket: Socket): Promise<void> {
  // Who sends something just when the other side closes is answered by a reset.
  socket.on('error', () => {});
  return new Promise((resolve) => socket.once('close', () => resolve()));
}
