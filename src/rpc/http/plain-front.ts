import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import {
  PlainConnection,
  type PlainConnectionModules,
  type PlainConnectionOptions,
} from './plain-connection.ts';

export interface PlainFrontOptions extends PlainConnectionOptions {
  readonly checkIntervalMs: number;
}

/**
 * Stands before a node:http server and answers plain requests itself, which costs a fraction. Connections belong to
 * that server all the same: it listens, counts them, and gets those whose next request is anything but plain.
 */
export class PlainFront {
  readonly #connections = new Set<PlainConnection>();
  readonly #timer: NodeJS.Timeout;

  constructor(
    server: Server,
    options: PlainFrontOptions,
    modules: Omit<PlainConnectionModules, 'handOver' | 'onGone'>,
  ) {
    const takeOver = server.listeners('connection') as unknown as readonly ((socket: Socket) => void)[];
    const connectionModules: PlainConnectionModules = {
      ...modules,
      handOver: (socket) => {
        for (const listener of takeOver) listener.call(server, socket);
      },
      onGone: (connection) => this.#connections.delete(connection),
    };
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      this.#connections.add(new PlainConnection(socket, options, connectionModules));
    });
    const { checkIntervalMs } = options;
    this.#timer = setInterval(() => {
      for (const connection of this.#connections) connection.tick(checkIntervalMs);
    }, checkIntervalMs);
    this.#timer.unref();
  }

  /** Closes the connections that wait for a request. */
  drain(): void {
    for (const connection of this.#connections) connection.drain();
  }

  /** Closes every connection, whatever it is doing. */
  destroyAll(): void {
    for (const connection of this.#connections) connection.cut();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
