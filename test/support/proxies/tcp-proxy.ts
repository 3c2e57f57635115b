import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Passes connections on, until it cuts them. */
export interface TcpProxy extends AsyncDisposable {
  /** The same URL as the target's, with the port of the proxy. */
  readonly url: string;
  /** Cuts all connections without a word; how many there were. */
  cut(): number;
}

/** Stands in front of an HTTP or WebSocket server on loopback; what it answers comes later by `delayMs`. */
export async function startTcpProxy(target: string, delayMs = 0): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<readonly [Socket, Socket]>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
    client.pipe(upstream);
    if (delayMs === 0) upstream.pipe(client);
    else upstream.on('data', (chunk: Buffer) => setTimeout(() => client.write(chunk), delayMs));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = new URL(target);
  own.port = String((server.address() as AddressInfo).port);
  const cut = (): number => {
    const { size } = pairs;
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    return size;
  };
  return {
    url: `${own.protocol}//${own.host}`,
    cut,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}
