import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';

/** Ways to servers that can be cut for the processes of a group: each connection is somebody's, and nothing of theirs goes through. */
export interface Ways extends AsyncDisposable {
  /** Nothing that these processes send arrives from now on, nor what is sent to them; they are not told. */
  cut(group: number): void;
  /** Lets everybody through again. What was cut is gone, as after a real partition. */
  mend(): void;
}

interface Way {
  readonly client: Socket;
  readonly server: Socket | undefined;
  readonly group: number | undefined;
  isCut: boolean;
}

/** Listens at `fronts` for what is meant for `servers`, each at the same port. */
export async function openWays(
  fronts: readonly string[],
  servers: readonly string[],
  port: number,
): Promise<Ways> {
  const open = new Set<Way>();
  let cutGroup: number | undefined;
  const accept = (client: Socket, address: string): void => {
    const group = groupOf(client);
    const isCut = cutGroup !== undefined && group === cutGroup;
    const server = isCut ? undefined : createConnection({ host: address, port });
    const way: Way = { client, server, group, isCut };
    open.add(way);
    const end = (): void => {
      open.delete(way);
      client.destroy();
      server?.destroy();
    };
    for (const socket of [client, server]) {
      socket?.setNoDelay(true);
      socket?.on('error', end);
      socket?.on('close', end);
    }
    // What is cut is read and lost: a sender does not notice.
    client.on('data', (bytes) => {
      if (!way.isCut) server?.write(bytes);
    });
    server?.on('data', (bytes) => {
      if (!way.isCut) client.write(bytes);
    });
  };
  const listeners: Server[] = [];
  for (const [index, front] of fronts.entries()) {
    const listener = createServer((client) => accept(client, servers[index] ?? front));
    listener.listen(port, front);
    await once(listener, 'listening');
    listeners.push(listener);
  }
  return {
    cut(group) {
      cutGroup = group;
      for (const way of open) if (way.group === group) way.isCut = true;
    },
    mend() {
      cutGroup = undefined;
      for (const way of [...open]) if (way.isCut) way.client.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const { client } of open) client.destroy();
      await Promise.all(listeners.map((listener) => new Promise((resolve) => listener.close(resolve))));
    },
  };
}

/** The group of the process at the other end of a connection, as the kernel tells. */
function groupOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): number | undefined {
  // By address, too: a connection to another server may have the same two ports.
  const [client, front] = [endOf(remoteAddress, remotePort), endOf(localAddress, localPort)];
  const inode = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    // One that is over may be listed with the same ends, and belongs to nobody.
    .find(([, own, peer, , , , , , , id]) => own === client && peer === front && id !== '0')?.[9];
  if (inode === undefined) return undefined;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const isOwner = readdirSync(`/proc/${pid}/fd`).some(
        (fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`,
      );
      if (isOwner) return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[2]);
    } catch (error) {
      // It ended, or closed it, while this looked.
      if (!['ENOENT', 'ESRCH', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return undefined;
}

/** An address of IPv4 and a port, as /proc/net/tcp has them. */
function endOf(address = '', port = 0): string {
  const bytes = address.replace('::ffff:', '').split('.').toReversed();
  const hex = (value: number, digits: number): string =>
    value.toString(16).toUpperCase().padStart(digits, '0');
  return `${bytes.map((byte) => hex(Number(byte), 2)).join('')}:${hex(port, 4)}`;
}
