import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { loopingBlock } from './looping-block.ts';

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}
interface Entry {
  readonly jsonrpc: '2.0';
  readonly id: unknown;
  result?: unknown;
}

/** What an upstream does instead of answering. */
export type Misdeed = (context: Exchange) => void | Promise<void>;

/** One request to the upstream, and the truth. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly calls: readonly Call[];
  readonly isBatch: boolean;
  /** What the real upstream answers. */
  truth(): Promise<readonly Entry[]>;
  /** Answers with entries, as they were asked for. */
  answer(entries: readonly Entry[]): void;
}

const HEX_255 = `0x${'ff'.repeat(32)}`;
const ABSURD = {
  ...{ number: '0xffffffffffffffff', hash: HEX_255, parentHash: `0x${'00'.repeat(32)}` },
  ...{ transactions: Array.from({ length: 1_000 }, () => ({})), timestamp: HEX_255, gasLimit: '-1' },
  extraData: `0x${'ab'.repeat(100_000)}`,
};

const text = (body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Misdeed => {
  return ({ response }) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body);
  };
};

/** Each call answered with the same. */
const always = (result: unknown): Misdeed => {
  return ({ calls, answer }) => answer(calls.map(({ id }) => ({ jsonrpc: '2.0', id, result })));
};

/** True answers, but for those that are changed. */
const changed = (change: (entry: Entry, call: Call | undefined) => Entry): Misdeed => {
  return async ({ calls, truth, answer }) => {
    const entries = await truth();
    answer(
      entries.map((entry) =>
        change(
          entry,
          calls.find(({ id }) => id === entry.id),
        ),
      ),
    );
  };
};

const isLatest = ({ method, params }: Call): boolean =>
  method === 'eth_getBlockByNumber' && params[0] === 'latest';

const isSend = ({ method }: Call): boolean => method === 'eth_sendRawTransaction';

/** Everything that an upstream may do wrong, by name. */
export const MISDEEDS: Readonly<Record<string, Misdeed>> = {
  garbage: text('<html>\0\xff http://user:secret-of-mine@x/'),
  never: () => {},
  huge: text(Buffer.alloc(80 << 20, 0x61)),
  'gzip-bomb': text(gzipSync(Buffer.alloc(300 << 20, 0x20)), { 'content-encoding': 'gzip' }),
  'deep-json': text(`${'['.repeat(5_000_000)}${']'.repeat(5_000_000)}`),
  redirect: ({ response }) => void response.writeHead(307, { location: '/elsewhere' }).end(),
  reset: ({ request }) => void request.socket.destroy(),
  'status-500': ({ response }) => void response.writeHead(500).end('oops'),
  'retry-after-long': ({ response }) =>
    void response.writeHead(429, { 'retry-after': '999999999' }).end('{}'),
  'retry-after-negative': ({ response }) => void response.writeHead(429, { 'retry-after': '-5' }).end('{}'),
  drip: async ({ response, truth }) => {
    const whole = JSON.stringify(await truth());
    response.writeHead(200, { 'content-type': 'application/json' });
    for (const letter of whole) {
      if (response.destroyed) return;
      response.write(letter);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    response.end();
  },
  'wrong-ids': changed((entry) => ({ ...entry, id: Number(entry.id) + 1_000 })),
  'sends-unanswered': async ({ calls, truth, answer }) => {
    if (!calls.some(isSend)) answer(await truth());
  },
  nulls: always(null),
  absurd: always(ABSURD),
  'future-head': changed((entry, call) =>
    call !== undefined && isLatest(call)
      ? { ...entry, result: { ...(entry.result as object), number: '0xfffffff' } }
      : entry,
  ),
};

/** An upstream that can be told to misbehave, and a block of its own making. */
export class HostileUpstream implements AsyncDisposable {
  misdeed: Misdeed | undefined;
  readonly #target: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket)).on('error', () => undefined);
    });
  }

  static async start(target: string): Promise<HostileUpstream> {
    const upstream = new HostileUpstream(target);
    await new Promise<void>((resolve) => upstream.#server.listen(0, '127.0.0.1', resolve));
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Names a block as its head that fits its hash and holds a deposit that never ends. */
  async sendLoopingBlock(): Promise<void> {
    const [parent] = await this.#ask([{ id: 1, method: 'eth_getBlockByNumber', params: ['latest', true] }]);
    const block = loopingBlock(parent?.result as Parameters<typeof loopingBlock>[0]);
    const isOurs = ({ method, params }: Call): boolean =>
      isLatest({ id: 0, method, params }) ||
      (method === 'eth_getBlockByHash' && params[0] === block.hash) ||
      (method === 'eth_getBlockByNumber' && params[0] === block.number);
    this.misdeed = changed((entry, call) =>
      call !== undefined && isOurs(call) ? { ...entry, result: block } : entry,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
    const isBatch = Array.isArray(body);
    const calls = (isBatch ? body : [body]) as readonly Call[];
    const truth = (): Promise<readonly Entry[]> => this.#ask(calls);
    const answer = (entries: readonly Entry[]): void => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isBatch ? entries : entries[0]));
    };
    const { misdeed } = this;
    if (misdeed === undefined) answer(await truth());
    else await misdeed({ request, response, calls, isBatch, truth, answer });
  }

  async #ask(calls: readonly Call[]): Promise<readonly Entry[]> {
    const response = await fetch(this.#target, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(calls.map((call) => ({ jsonrpc: '2.0', ...call }))),
    });
    return (await response.json()) as readonly Entry[];
  }
}
