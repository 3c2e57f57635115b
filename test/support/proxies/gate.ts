import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** An address in front of a server, which can be reached through it only while it is open. */
export interface Gate extends AsyncDisposable {
  /** As the server's own, at another port. */
  readonly url: string;
  open: boolean;
  /** Connections that were let through. */
  readonly passed: number;
}

export async function startGate(target: string): Promise<Gate> {
  const { protocol, hostname, port, pathname } = new URL(target);
  const sockets = new Set<Socket>();
  const gate = { open: false, passed: 0 };
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    keep(client);
    if (!gate.open) {
      client.destroy();
      return;
    }
    gate.passed += 1;
    const upstream = connect(Number(port), hostname);
    keep(upstream);
    // Either end may break at any time, and takes the other with it.
    client.once('error', () => upstream.destroy());
    upstream.once('error', () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: own } = server.address() as AddressInfo;
  return Object.assign(gate, {
    url: `${protocol}//127.0.0.1:${own}${pathname === '/' ? '' : pathname}`,
    async [Symbol.asyncDispose](): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
