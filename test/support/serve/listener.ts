import { Registry } from 'prom-client';
import { WebSocket } from 'ws';
import type { BlockRef } from '../../../src/chain/outcome.ts';
import { BlockJson } from '../../../src/head/block-json.ts';
import type { Head } from '../../../src/head/head.ts';
import { createMethods } from '../../../src/methods/registry.ts';
import type { Hex } from '../../../src/primitives/hex.ts';
import { createHttpServer, type HttpServer } from '../../../src/rpc/http/server.ts';
import type { ClientMemory } from '../../../src/rpc/limits/client-memory.ts';
import type { Rates } from '../../../src/rpc/limits/rates.ts';
import type { WebSocketOptions } from '../../../src/rpc/ws/server.ts';
import { StreamMetrics } from '../../../src/subscriptions/metrics.ts';
import {
  Streams,
  type StreamsModules,
  type StreamsOptions,
} from '../../../src/subscriptions/streams/streams.ts';
import { SUBSCRIPTION_METHODS } from '../../../src/subscriptions/subscribe-methods.ts';
import { dispatcherOf, testMemory } from './dispatcher.ts';
import { FAKE_RENDER, type FakeCall, FakeChain } from './head.ts';

interface Settings {
  readonly front?: 'hybrid' | 'node';
  readonly streams?: Partial<StreamsOptions>;
  readonly modules?: Partial<StreamsModules>;
  readonly websocket?: Partial<WebSocketOptions>;
  readonly tip?: BlockRef;
  readonly call?: FakeCall;
  readonly maxBodyBytes?: number;
  readonly maxResponseBytes?: number;
  readonly maxConnections?: number;
  readonly memory?: ClientMemory;
  readonly allowAnyOrigin?: boolean;
  readonly rates?: Rates;
}

/** For tests only: a listener over a made-up chain, and the streams of its thread. */
export interface TestListener extends AsyncDisposable {
  readonly url: string;
  readonly streams: Streams;
  readonly server: HttpServer;
  readonly registry: Registry;
  readonly head: Head;
}

const STREAMS: StreamsOptions = {
  undoWindow: 16,
  hasPreconfirmations: true,
  resumeBlocks: 2,
  resumeReaders: 2,
  resumeWaitMs: 1_000,
  maxWaitingEvents: 16,
  maxPerConnection: 8,
  maxSubscriptions: 100,
};

/** For tests only. */
export async function startListener(
  chain: FakeChain = new FakeChain().add(0).add(1).add(2).add(3).add(4),
  settings: Settings = {},
): Promise<TestListener> {
  const head = await chain.head(settings.call);
  const registry = new Registry();
  const metrics = new StreamMetrics(registry);
  const streams = new Streams(
    { ...STREAMS, ...settings.streams },
    {
      tip: settings.tip ?? head.snapshot().head,
      history: {
        logs: (query, from, to, checkpoint) => head.snapshot().findLogs(query, from, to, checkpoint),
        isCanonical: ({ number, hash }) => chain.canonicalHash(number) === hash,
      },
      json: new BlockJson({
        ...FAKE_RENDER,
        header: (header) => Buffer.from(header).toString(),
        block: () => '{}',
        transactions: ({ block }) => [Buffer.from(block).toString()],
      }),
      readState: (read) =>
        read({ account: () => ({ nonce: '0x0', balance: '0x0' }), storageAt: (_address, slot) => slot }),
      metrics,
      onFault: (error) => {
        throw error;
      },
      ...settings.modules,
    },
  );
  const methods = createMethods('0.0.0-test', SUBSCRIPTION_METHODS);
  const { maxResponseBytes = 10 << 20 } = settings;
  const forbidden = new Set(['eth_getBlockReceipts']);
  const dispatcher = dispatcherOf(head, { forbidden, maxResponseBytes }, { methods });
  const server = await createHttpServer(
    {
      front: settings.front ?? 'hybrid',
      ...{ host: '127.0.0.1', port: 0, reusePort: false },
      maxBodyBytes: settings.maxBodyBytes ?? 1 << 16,
      ...{ maxConnections: settings.maxConnections ?? 100, maxInFlight: 100 },
      ...{
        headersTimeoutMs: 5_000,
        requestTimeoutMs: 5_000,
        keepAliveTimeoutMs: 5_000,
        drainTimeoutMs: 2_000,
      },
      allowAnyOrigin: settings.allowAnyOrigin ?? true,
    },
    {
      dispatcher,
      memory: settings.memory ?? testMemory(),
      rates: settings.rates,
      websocket: {
        options: {
          ...{ maxQueuedBytes: 1 << 20, maxConcurrent: 4 },
          ...{ pingIntervalMs: 30_000, pongTimeoutMs: 10_000, closeTimeoutMs: 2_000 },
          ...settings.websocket,
        },
        subscriber: streams,
        metrics,
      },
    },
  );
  const { port } = server.address;
  return {
    ...{ streams, server, registry, head },
    url: `ws://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => server.close(),
  };
}

interface Waiting {
  readonly isIt: (message: Message) => boolean;
  readonly resolve: (message: Message) => void;
}

/** A message as a client reads it. */
export interface Message {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
  readonly params?: { readonly subscription: Hex; readonly result: unknown };
}

/** For tests only: a client that keeps what it is told. */
export class TestClient implements Disposable {
  readonly socket: WebSocket;
  readonly messages: (Message | readonly Message[])[] = [];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly #waiting = new Set<Waiting>();
  #ids = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
    socket.on('message', (data: Buffer) => this.#take(JSON.parse(data.toString()) as Message | Message[]));
  }

  static async connect(url: string): Promise<TestClient> {
    const socket = new WebSocket(url);
    const client = new TestClient(socket);
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return client;
  }

  /** Asks, and gives back the whole answer. */
  ask(method: string, ...params: readonly unknown[]): Promise<Message> {
    const id = ++this.#ids;
    const answer = this.next((message) => message.id === id);
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    return answer;
  }

  async subscribe(...params: readonly unknown[]): Promise<Hex> {
    const { result, error } = await this.ask('eth_subscribe', ...params);
    if (error !== undefined) throw new Error(`${error.code} ${error.message}`);
    return result as Hex;
  }

  /** What a subscription has brought so far. */
  of(id: Hex): readonly unknown[] {
    return this.messages.flat().flatMap(({ params }) => (params?.subscription === id ? [params.result] : []));
  }

  /** Answers come in order, so everything sent before is here when this one is. */
  async settle(): Promise<void> {
    await this.ask('eth_chainId');
  }

  next(isIt: (message: Message) => boolean): Promise<Message> {
    return new Promise((resolve) => this.#waiting.add({ isIt, resolve }));
  }

  /** Resolves once something is so, looking again at each message. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await this.next(() => true);
  }

  #take(message: Message | readonly Message[]): void {
    this.messages.push(message);
    for (const waiting of this.#waiting) {
      const found = [message].flat().find((one) => waiting.isIt(one));
      if (found === undefined) continue;
      this.#waiting.delete(waiting);
      waiting.resolve(found);
    }
  }

  [Symbol.dispose](): void {
    this.socket.terminate();
  }
}
