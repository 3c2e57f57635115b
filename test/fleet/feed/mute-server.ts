import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface MuteServer extends AsyncDisposable {
  readonly url: string;
  /** How many have connected so far. */
  readonly connections: () => number;
}

/** Greets as a NATS server, answers pings, and does nothing of what it is asked: one that is cut off from its cluster. */
export async function startMuteServer(): Promise<MuteServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    socket.write(
      'INFO {"server_id":"mute","version":"2.15.0","proto":1,"headers":true,"max_payload":1048576}\r\n',
    );
    socket.on('data', (data) => {
      if (data.includes('PING\r\n')) socket.write('PONG\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
