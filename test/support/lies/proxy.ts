import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Lie, lieAbout, misdirect } from './lies.ts';

interface Request {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: readonly unknown[];
}

interface Response {
  readonly id?: unknown;
  readonly result?: unknown;
}

/** An upstream that answers truly until it is told not to. JSON-RPC over HTTP only, batches included. */
export interface LyingProxy extends AsyncDisposable {
  readonly url: string;
  /** Calls passed on, by method, entries of batches counted one by one. */
  readonly forwarded: ReadonlyMap<string, number>;
  /** How often an answer was really changed. */
  readonly told: number;
  /** Undefined tells the truth. */
  lie: Lie | undefined;
  /** Says, truly for all anybody knows, that it has no state any more. */
  isPruned: boolean;
  /** Held back for so long before it is passed on. */
  delayMs: number;
  /** Methods that it says it does not have. */
  readonly lacks: Set<string>;
  /** Names its head in `x-chain-head`, as our own node does. */
  namesHead: boolean;
  /** Refuses connections, and drops those there are; at the same address again after `up`. */
  down(): Promise<void>;
  up(): Promise<void>;
  reset(): void;
}

const STATE_METHODS: readonly string[] = [
  ...['eth_getBalance', 'eth_getCode', 'eth_getTransactionCount', 'eth_getStorageAt', 'eth_getProof'],
];
/** As geth says it. */
const PRUNED = {
  jsonrpc: '2.0',
  error: { code: -32000, message: 'missing trie node 00 (path ) state is not available' },
};

const lacking = (method: string | undefined): object => ({
  jsonrpc: '2.0',
  error: { code: -32601, message: `the method ${method} does not exist/is not available` },
});

async function bodyOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.removeListener('error', reject);
      resolve();
    });
  });

class ProxyServer implements LyingProxy {
  readonly forwarded = new Map<string, number>();
  told = 0;
  lie: Lie | undefined;
  isPruned = false;
  delayMs = 0;
  readonly lacks = new Set<string>();
  namesHead = false;
  private readonly target: string;
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private port = 0;

  constructor(target: string) {
    this.target = target;
    this.server = createServer((request, response) => {
      this.answer(request, response).catch((error: unknown) => {
        response.writeHead(502).end(String(error));
      });
    });
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async down(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  async up(): Promise<void> {
    await listen(this.server, this.port);
    this.port = (this.server.address() as AddressInfo).port;
  }

  reset(): void {
    this.forwarded.clear();
    this.told = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.server.listening) await this.down();
  }

  private async answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: unknown = JSON.parse(await bodyOf(message));
    const asked = (Array.isArray(body) ? body : [body]) as readonly Request[];
    for (const { method } of asked) this.forwarded.set(method, (this.forwarded.get(method) ?? 0) + 1);
    if (this.delayMs > 0) await pause(this.delayMs);
    const { lie } = this;
    const passed = asked.map((request) => this.note(request, misdirect(lie, request)));
    const headers = this.namesHead ? await this.head() : {};
    const answered = await this.forward(Array.isArray(body) ? passed : passed[0]);
    const methods = new Map(asked.map((request) => [request.id, request]));
    const change = (entry: Response): Response => {
      const request = methods.get(entry.id);
      if (this.isPruned && STATE_METHODS.includes(request?.method ?? '')) return { id: entry.id, ...PRUNED };
      if (this.lacks.has(request?.method ?? '')) return { id: entry.id, ...lacking(request?.method) };
      if (request === undefined || entry.result === undefined || entry.result === null) return entry;
      return this.note(entry, { ...entry, result: lieAbout(lie, request, entry.result) }, entry.result);
    };
    const told = Array.isArray(answered) ? answered.map(change) : change(answered as Response);
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(told));
  }

  /** The second, counted as a lie if it says something else than the first. */
  private note<T extends object>(truth: T, said: T, result?: unknown): T {
    const isTrue = result === undefined ? said === truth : (said as Response).result === result;
    if (isTrue) return truth;
    this.told += 1;
    return said;
  }

  private async forward(body: unknown): Promise<unknown> {
    const response = await fetch(this.target, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.json();
  }

  private async head(): Promise<Readonly<Record<string, string>>> {
    const params = ['latest', false];
    const answer = await this.forward({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params });
    const block = (answer as { result: { number: string; hash: string } }).result;
    return { 'x-chain-head': `${Number(block.number)};${block.hash}` };
  }
}

export async function startLyingProxy(target: string): Promise<LyingProxy> {
  const proxy = new ProxyServer(target);
  await proxy.up();
  return proxy;
}
