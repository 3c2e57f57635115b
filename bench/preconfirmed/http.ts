import { connect, type Socket } from 'node:net';
import type { Call } from '../../test/support/servers/rpc-client.ts';
import { now } from './clock.ts';

export interface Received {
  /** When its last byte came. */
  readonly at: number;
  readonly body: Buffer;
}

/** A request as it goes over the wire. `atLeast`: answered only once the node knows that point. */
export function encodeRequest(call: Call, atLeast?: string): Buffer {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...call });
  const head = [
    'POST / HTTP/1.1',
    'host: localhost',
    'content-type: application/json',
    `content-length: ${body.length}`,
    ...(atLeast === undefined ? [] : [`x-chain-at-least: ${atLeast}`]),
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/**
 * One connection that is kept open, one request at a time. As little of a client as can be: what it costs is taken
 * from the node that is measured, and added to what is measured.
 */
export class Connection implements Disposable {
  readonly #socket: Socket;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Of the answer that is arriving, head and body; unknown until its head is there. */
  #headBytes = 0;
  #wanted = Number.POSITIVE_INFINITY;
  #waiting: PromiseWithResolvers<Received> | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the node closed a connection')));
  }

  static async open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Connection(socket);
  }

  ask(request: Buffer): Promise<Received> {
    if (this.#waiting !== undefined) throw new Error('one request at a time');
    this.#waiting = Promise.withResolvers();
    this.#socket.write(request);
    return this.#waiting.promise;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#wanted === Number.POSITIVE_INFINITY) this.#readHead();
    if (this.#bytes < this.#wanted) return;
    const at = now();
    const body = Buffer.concat(this.#chunks).subarray(this.#headBytes);
    const waiting = this.#waiting;
    this.#chunks = [];
    this.#bytes = 0;
    this.#wanted = Number.POSITIVE_INFINITY;
    this.#waiting = undefined;
    waiting?.resolve({ at, body });
  }

  #readHead(): void {
    const bytes = Buffer.concat(this.#chunks);
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(bytes.toString('latin1', 0, end + 2))?.[1];
    if (length === undefined) {
      this.#fail(new Error('an answer without a length'));
      return;
    }
    this.#headBytes = end + 4;
    this.#wanted = this.#headBytes + Number(length);
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}
