import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** Attackers are another client than those who mean well. */
const ATTACKER_ADDRESS = '127.0.0.2';
const SOMEBODY_ADDRESS = '127.0.0.3';
/** How long a request is waited for that is then abandoned. */
const ABANDON_MS = 40;
/** What a short request may take once an attack is over. */
const AFTERWARDS_MS = 1_000;

export interface Aim {
  readonly port: number;
  /** How long the attack goes on. */
  readonly forMs: number;
  readonly seed: number;
  /** For the control run: no more bytes a second than the attack itself sent. */
  readonly bytesPerSecond?: number;
  /** Where it comes from, where that is not what all attackers share. */
  readonly from?: string;
}

/** How something is asked, where that is not the usual. */
interface Asking {
  readonly when?: string;
  readonly from?: string;
  readonly port?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the connection serves for the next request, too. */
  readonly keepsAlive?: boolean;
}

/** Once it happens, or the connection fails: attackers are cut off all the time. */
async function happens(socket: Socket, event: string): Promise<void> {
  await once(socket, event).catch(() => undefined);
}

/** What an attack is aimed at: a listener of our node or, in the control run, somebody who only reads. */
export class Target {
  readonly seed: number;
  sentBytes = 0;
  /** What came back, by its beginning. */
  readonly answers: Record<string, number> = {};
  readonly #aim: Aim;
  readonly #started = performance.now();
  readonly #agent = new Agent({ keepAlive: true });
  readonly #sockets = new Set<Socket>();

  constructor(aim: Aim) {
    this.#aim = aim;
    this.seed = aim.seed;
  }

  get isOver(): boolean {
    return performance.now() - this.#started > this.#aim.forMs;
  }

  /** Waits until a part of the time has passed. */
  async part(share: number): Promise<void> {
    await pause(Math.max(0, this.#started + share * this.#aim.forMs - performance.now()));
  }

  /** Waits until the attack is over. */
  async end(): Promise<void> {
    await pause(Math.max(0, this.#started + this.#aim.forMs - performance.now()));
  }

  async connect(): Promise<Socket> {
    const { port, from = ATTACKER_ADDRESS } = this.#aim;
    const socket = connect({ port, host: '127.0.0.1', localAddress: from });
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    await Promise.race([happens(socket, 'connect'), happens(socket, 'close')]);
    return socket;
  }

  /** A connection that will never be read from. */
  async connectSilently(): Promise<Socket> {
    const socket = await this.connect();
    socket.pause();
    return socket;
  }

  async webSocket(onAnswer?: (answer: string) => void): Promise<Socket> {
    const socket = await this.connect();
    if (onAnswer !== undefined) socket.once('data', (data: Buffer) => onAnswer(data.toString('latin1')));
    const key = randomBytes(16).toString('base64');
    await this.write(
      socket,
      'GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
    );
    await Promise.race([happens(socket, 'data'), happens(socket, 'close')]);
    return socket;
  }

  /** Sends bytes, not faster than allowed; waits while the other side does not take them. */
  async write(socket: Socket, bytes: string | Buffer): Promise<void> {
    const { bytesPerSecond } = this.#aim;
    if (bytesPerSecond !== undefined) {
      const due = this.#started + (this.sentBytes / bytesPerSecond) * 1_000;
      await pause(Math.max(0, Math.min(due - performance.now(), this.#aim.forMs)));
    }
    if (socket.destroyed) return;
    this.sentBytes += bytes.length;
    if (socket.write(bytes, 'latin1')) return;
    await Promise.race([happens(socket, 'drain'), happens(socket, 'close'), this.end()]);
  }

  /** Sends a call again and again over so many connections, each time when the last is answered. */
  async repeat(connections: number, bodies: () => string): Promise<void> {
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (!this.isOver) await this.post(bodies());
      }),
    );
  }

  /** Sends requests and goes away before they are answered, over so many connections, until a part of the time has passed. */
  async abandon(connections: number, share: number, bodies: () => string): Promise<void> {
    const over = new AbortController();
    const goAway = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const socket = await this.connect();
        await this.write(socket, plainRequest(bodies()));
        await pause(ABANDON_MS);
        socket.destroy();
      }
    };
    const going = Array.from({ length: connections }, goAway);
    await this.part(share);
    over.abort();
    await Promise.all(going);
  }

  /** Asks as another client what anybody may ask once an attack is over, and notes whether the answer was long in coming. */
  async postAfterwards(body: string): Promise<void> {
    const started = performance.now();
    await this.post(body, { when: 'afterwards ', from: SOMEBODY_ADDRESS });
    if (performance.now() - started > AFTERWARDS_MS) this.note('afterwards late');
  }

  /** Asks, notes how it was answered, and gives the beginning of that. */
  async post(body: string, asking: Asking = {}): Promise<string> {
    const { bytesPerSecond } = this.#aim;
    const { when = '', from = this.#aim.from ?? ATTACKER_ADDRESS, port = this.#aim.port } = asking;
    if (bytesPerSecond !== undefined) {
      const due = this.#started + (this.sentBytes / bytesPerSecond) * 1_000;
      await pause(Math.max(0, Math.min(due - performance.now(), this.#aim.forMs)));
      if (this.isOver) return '';
    }
    this.sentBytes += body.length;
    return new Promise<string>((resolve) => {
      const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const agent = asking.keepsAlive === false ? false : this.#agent;
      const request = httpRequest(
        {
          ...{ host: '127.0.0.1', port, localAddress: from, agent },
          ...{ method: 'POST', headers: { ...length, ...asking.headers } },
        },
        (response) => {
          let start = '';
          response.on('data', (chunk: Buffer) => {
            if (start.length < 256) start += chunk.toString('latin1', 0, 256);
          });
          response.on('close', () => {
            this.note(`${when}${response.statusCode} ${meaning(start)}`);
            resolve(start);
          });
        },
      );
      request.on('error', (error: NodeJS.ErrnoException) => {
        this.note(error.code ?? error.message);
        resolve('');
      });
      request.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Counts an answer. */
  note(answer: string): void {
    this.answers[answer] = (this.answers[answer] ?? 0) + 1;
  }
}

/** The result, or the error, that an answer begins with, of a batch its first; as it is where that is not JSON-RPC. */
export function meaning(start: string): string {
  const [, code, message] =
    /^\[?\{"jsonrpc":"2\.0","id":[^,]+,"error":\{"code":(-?\d+),"message":"([^"]{0,60})/.exec(start) ?? [];
  if (code !== undefined) return `${code} ${message}`;
  return /^\[?\{"jsonrpc":"2\.0","id":[^,]+,"result":/.test(start) ? 'a result' : start.slice(0, 60);
}

/** A whole request as it goes over the wire. One odd header takes it off the plain path. */
export function plainRequest(body: string, isOdd = false): string {
  const odd = isOdd ? 'Accept-Charset: \xe9\r\n' : '';
  return (
    `POST / HTTP/1.1\r\nHost: localhost\r\n${odd}Content-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  );
}

/** A frame as clients send it; the mask is zero. */
export function clientFrame(data: string | Buffer, opcode = 0x81): Buffer {
  const payload = Buffer.from(data);
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 6 : length < 65_536 ? 8 : 14);
  head[0] = opcode;
  head[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (head.length === 8) head.writeUInt16BE(length, 2);
  if (head.length === 14) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

let nextId = 1;

export function rpc(method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: '2.0', id: nextId++, method, params });
}
