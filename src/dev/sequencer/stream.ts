import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import type { FlashblockMessage } from './flashblocks.ts';

/** Flashblocks over WebSocket, to whoever connects. */
export interface FlashblockStream extends AsyncDisposable {
  readonly url: string;
  publish(message: FlashblockMessage): void;
}

const MAX_CLIENTS = 100;
/** A listener that is this far behind has gone to sleep. */
const MAX_BUFFERED_BYTES = 2 ** 24;

/** Opens a stream on loopback, on a port of the system's choice. */
export async function openStream(): Promise<FlashblockStream> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, maxPayload: 1_024 });
  await once(server, 'listening');
  server.on('connection', (client) => {
    // What a peer does wrong ends its own connection, which 'close' then tells the server.
    client.on('error', () => client.terminate());
    if (server.clients.size > MAX_CLIENTS) client.close(1013, 'too many listeners');
  });
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    publish(message) {
      const text = JSON.stringify(message);
      for (const client of server.clients) {
        if (client.bufferedAmount > MAX_BUFFERED_BYTES) client.terminate();
        else if (client.readyState === client.OPEN) client.send(text);
      }
    },
    async [Symbol.asyncDispose]() {
      for (const client of server.clients) client.terminate();
      server.close();
      await once(server, 'close');
    },
  };
}
