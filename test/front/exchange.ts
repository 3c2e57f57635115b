import { channel } from 'node:diagnostics_channel';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

/** All that a client can tell of one connection. */
export interface Exchange {
  /** Answered while the client had more to say. */
  readonly answers: string;
  /** Whether the server would have taken another request. */
  readonly open: boolean;
  /** Answered after the client had ended. */
  readonly farewell: string;
}

const SETTLE_MS = 20_000;

/** The server's side of each connection. One port of the client may serve connections to several servers. */
const accepted = new Map<string, Socket>();
const portsOf = (client: number | undefined, server: number | undefined): string => `${client} ${server}`;

/** Ports whose connections node:http is to read by events, as it does what is put back into a socket. */
export const readByEvents = new Set<number | undefined>();

channel('net.server.socket').subscribe((message) => {
  const { socket } = message as { socket: Socket };
  accepted.set(portsOf(socket.remotePort, socket.localPort), socket);
  // A listener of anybody's makes node:http give up its shortcut.
  if (readByEvents.has(socket.localPort)) socket.on('data', () => undefined);
});

/**
 * Sends the chunks so that the server reads each by itself (and, if patient, has answered it before the next), waits
 * until the server has nothing left to do, then ends.
 * Client and server share this process, so the waiting needs no guess: both ends of the connection can be asked.
 */
export async function exchange(
  port: number,
  chunks: readonly Buffer[],
  isWorking: () => boolean,
  pace: 'eager' | 'patient',
): Promise<Exchange> {
  const client = connect({ port, host: '127.0.0.1', noDelay: true });
  const received: Buffer[] = [];
  client.on('data', (chunk) => received.push(chunk));
  client.on('error', () => undefined);
  const giveUpAt = performance.now() + SETTLE_MS;
  const turn = async (): Promise<void> => {
    if (performance.now() > giveUpAt) throw new Error('the connection does not come to rest');
    await setImmediate();
  };
  const server = await acceptedBy(port, client, turn);
  try {
    let sent = 0;
    const isGone = (): boolean => client.closed || server.destroyed;
    const hasRest = (): boolean =>
      isGone()
        ? client.closed
        : server.bytesRead === sent &&
          server.writableLength === 0 &&
          client.bytesRead === server.bytesWritten &&
          !isWorking();
    for (const chunk of chunks) {
      if (isGone()) break;
      client.write(chunk);
      sent += chunk.length;
      while (!isGone() && (pace === 'patient' ? !hasRest() : server.bytesRead < sent)) await turn();
    }
    // Quiet turns in a row: what one turn has begun, the next shows.
    for (let quiet = 0; quiet < 3; quiet = hasRest() ? quiet + 1 : 0) await turn();
    const answers = text(received.splice(0));
    const open = !client.closed && !server.destroyed && !server.writableEnded;
    client.end();
    while (!client.closed) await turn();
    return { answers, open, farewell: text(received) };
  } finally {
    client.destroy();
  }
}

async function acceptedBy(port: number, client: Socket, turn: () => Promise<void>): Promise<Socket> {
  for (;;) {
    const ports = portsOf(client.localPort, port);
    const server = accepted.get(ports);
    if (server !== undefined) {
      accepted.delete(ports);
      return server;
    }
    await turn();
  }
}

function text(received: readonly Buffer[]): string {
  return Buffer.concat(received)
    .toString('latin1')
    .replace(/^Date: .*\r$/gm, 'Date: -\r');
}
