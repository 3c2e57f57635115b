import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { Random } from '../../support/random.ts';

/** Every connection comes to an end long before. */
const END_MS = 10_000;

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/** A connection that must end. */
export interface Talk {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  /** Waits for its end; throws, with what was heard until then, if that does not come in time. */
  end(heard: () => string): Promise<void>;
}

/** Opens a connection, and tells of what comes. */
export async function openTalk(port: number, onData: (chunk: Buffer) => void): Promise<Talk> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('data', onData);
  socket.on('error', () => undefined);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    socket.destroy();
  }, END_MS);
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  await Promise.race([once(socket, 'connect').catch(() => undefined), closed]);
  const end = async (heard: () => string): Promise<void> => {
    await closed;
    clearTimeout(timer);
    if (isLate) throw new Error(`the connection does not end: ${heard()}`);
  };
  return { socket, closed, end };
}

/** Sends bytes cut anywhere. */
export async function sendInPieces(socket: Socket, bytes: Buffer, random: Random): Promise<void> {
  const count = random.pick([0, 0, 1, 2, 5]);
  const cuts = random.list(count, () => random.below(bytes.length + 1)).sort((a, b) => a - b);
  for (const [at, cut] of [0, ...cuts].entries()) {
    if (socket.destroyed) return;
    socket.write(bytes.subarray(cut, cuts[at] ?? bytes.length));
    await setImmediate();
  }
}

/** Sends bytes over a connection of their own, cut anywhere, then what makes the server end it; gives all that comes back. */
export async function talk(port: number, bytes: Buffer, last: Buffer, random: Random): Promise<string> {
  const received: Buffer[] = [];
  const { socket, end } = await openTalk(port, (chunk) => received.push(chunk));
  const heard = (): string => Buffer.concat(received).toString('latin1');
  await sendInPieces(socket, bytes, random);
  socket.write(last);
  await end(heard);
  return heard();
}

/** Takes answers apart by their lengths; throws for bytes that belong to none. */
export function readAnswers(text: string): readonly HttpAnswer[] {
  const answers: HttpAnswer[] = [];
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\r\n\r\n', at);
    const head = text.slice(at, end);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? (status === 204 ? 0 : Number.NaN));
    const body = text.slice(end + 4, end + 4 + length);
    if (end === -1 || Number.isNaN(status) || body.length !== length) {
      throw new Error(`no answer: ${JSON.stringify(text.slice(at, at + 300))}`);
    }
    answers.push({ status, body });
    at = end + 4 + length;
  }
  return answers;
}
