import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** How many connections are open, in memory that all threads share. */
export type ConnectionMemory = SharedArrayBuffer;

/** Makes the memory; nothing is open. */
export function newConnectionMemory(): ConnectionMemory {
  return new SharedArrayBuffer(4);
}

/**
 * Connections that all listeners of a process may have open together: as many as there are file descriptors for.
 * Without a descriptor to accept a connection with, the system would tell us of it again and again, for ever.
 */
export class ConnectionBudget {
  readonly #open: Int32Array;
  readonly #limit: number;

  constructor(memory: ConnectionMemory, limit: number) {
    this.#open = new Int32Array(memory);
    this.#limit = limit;
  }

  /** Takes a place until the socket closes; false when there is none. */
  admit(socket: Socket): boolean {
    if (Atomics.add(this.#open, 0, 1) >= this.#limit) {
      Atomics.sub(this.#open, 0, 1);
      return false;
    }
    socket.once('close', () => Atomics.sub(this.#open, 0, 1));
    return true;
  }
}

/** Puts a question before whoever takes the connections of a server. Whoever says no ends the connection. */
export function gateConnections(server: Server, admit: (socket: Socket) => boolean): void {
  const takeOver = server.listeners('connection') as unknown as readonly ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (admit(socket)) for (const listener of takeOver) listener.call(server, socket);
  });
}
