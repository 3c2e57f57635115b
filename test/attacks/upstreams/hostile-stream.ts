import { randomBytes } from 'node:crypto';
import type { AddressInfo, Socket } from 'node:net';
import { brotliCompressSync, constants } from 'node:zlib';
import type { Hex } from 'viem';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
import type { FlashblockMessage } from '../../support/flashblocks/builder.ts';
import { encodeDeposit } from '../../support/servers/op-deposits.ts';
import { loopingDeposit } from './looping-block.ts';

type Message = FlashblockMessage;
type Mutable = { -readonly [Field in keyof Message]: Message[Field] };

const compressed = (bytes: Buffer): Buffer =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
const hex = (bytes: number): Hex => `0x${randomBytes(bytes).toString('hex')}`;
const HUGE: Hex = '0xffffffffffffffff';

/** What a stream sends to each listener of its own accord, again and again. */
interface Flood {
  readonly everyMs: number;
  readonly messages: readonly (string | Buffer)[];
}

/** Floods, by name; made when they are asked for, as compressing takes a while. */
const FLOODS: Readonly<Record<string, () => Flood>> = {
  garbage: () => ({ everyMs: 5, messages: ['nope', randomBytes(1_000), '{"index":0}', 'null'] }),
  huge: () => ({ everyMs: 1_000, messages: [Buffer.alloc(40 << 20, 0x7b)] }),
  'brotli-bomb': () => tenTimes(compressed(Buffer.alloc(200 << 20, 0x7b))),
  'brotli-below-limit': () => tenTimes(compressed(Buffer.from(`{"a":"${'a'.repeat(15 << 20)}"}`))),
  'deep-json': () =>
    tenTimes(compressed(Buffer.concat([Buffer.alloc(7 << 20, 0x5b), Buffer.alloc(7 << 20, 0x5d)]))),
};

const tenTimes = (message: Buffer): Flood => ({
  everyMs: 10,
  messages: Array.from({ length: 10 }, () => message),
});

/** A true flashblock made into others. */
type Change = (message: Message) => readonly Message[];

const withBase = (fields: Readonly<Record<string, Hex>>): Change => {
  return (message) => [
    message.base === undefined ? message : { ...message, base: { ...message.base, ...fields } },
  ];
};
const withTransactions = (message: Message, more: readonly Hex[]): Message => ({
  ...message,
  diff: { ...message.diff, transactions: [...message.diff.transactions, ...more] },
});
const times = (count: number, make: (index: number) => Message): readonly Message[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Changes, by name. */
const CHANGES: Readonly<Record<string, Change>> = {
  'looping-deposit': (message) => [
    message.index === 1 ? withTransactions(message, [encodeDeposit(loopingDeposit)]) : message,
  ],
  'looping-deposit-without-limit': (message) => {
    if (message.base === undefined) return [message];
    const base = { ...message.base, gas_limit: HUGE };
    return [withTransactions({ ...message, base }, [encodeDeposit(loopingDeposit)])];
  },
  'long-transaction': (message) => [withTransactions(message, [`0x02${'ff'.repeat(1_000_000)}`])],
  'many-transactions': (message) => [
    withTransactions(
      message,
      Array.from({ length: 100_000 }, (): Hex => '0x02c0'),
    ),
  ],
  'gas-used': (message) => [{ ...message, diff: { ...message.diff, gas_used: HUGE } }],
  timestamp: withBase({ timestamp: HUGE }),
  'gas-limit': withBase({ gas_limit: HUGE }),
  'base-fee': withBase({ base_fee_per_gas: `0x${'f'.repeat(64)}` }),
  'extra-data': withBase({ extra_data: `0x${'ab'.repeat(1_000_000)}` }),
  duplicates: (message) => [message, message, message],
  contradictions: (message) => [message, { ...message, diff: { ...message.diff, gas_used: '0x1' } }],
  rebuilds: (message) => times(50, () => ({ ...message, payload_id: hex(8) })),
  'other-indexes': (message) => {
    const { base: _, ...rest } = message;
    const others = times(400, (index) => ({
      ...rest,
      payload_id: hex(8),
      index: 1 + ((index * 37) % 4_000),
    }));
    return [...others, message];
  },
  'early-blocks': (message) => {
    const { base } = message;
    if (base === undefined) return [message];
    const number = Number(base['block_number']);
    const early = times(300, (index) => {
      const next = number + 1 + (index % 3);
      const made: Mutable = {
        ...message,
        payload_id: hex(8),
        base: { ...base, parent_hash: hex(32), block_number: `0x${next.toString(16)}` },
        metadata: { block_number: next },
      };
      return { ...made, diff: { ...message.diff, transactions: [`0x02${'aa'.repeat(100_000)}` as Hex] } };
    });
    return [...early, message];
  },
};

/** Connections that are treated badly, by name. */
const CONNECTIONS: Readonly<Record<string, (socket: WebSocket, raw: Socket) => void>> = {
  // Never answers the closing handshake, and goes on sending.
  'never-closes': (socket, raw) => {
    raw.removeAllListeners('data');
    raw.on('data', () => undefined);
    const timer = setInterval(() => socket.readyState === socket.OPEN && socket.send('x'), 100);
    raw.on('close', () => clearInterval(timer));
  },
  flapping: (socket) => socket.terminate(),
  silent: () => undefined,
};

export const STREAM_ATTACKS = [...Object.keys(FLOODS), ...Object.keys(CHANGES), ...Object.keys(CONNECTIONS)];

/** A stream between a true one and our node that passes flashblocks on until it is told what to do instead. */
export class HostileStream implements AsyncDisposable {
  readonly #server: WebSocketServer;
  readonly #source: WebSocket;
  #mode: string | undefined;
  #flood: Flood | undefined;

  private constructor(source: string) {
    this.#source = new WebSocket(source);
    this.#server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    this.#source.on('message', (data) => this.#pass(data));
    this.#source.on('error', () => undefined);
    this.#server.on('connection', (socket, { socket: raw }) => this.#treat(socket, raw));
  }

  static async start(source: string): Promise<HostileStream> {
    const stream = new HostileStream(source);
    await new Promise((resolve) => stream.#source.once('open', resolve));
    return stream;
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Connections that are open, as far as this side can tell. */
  get connections(): number {
    return this.#server.clients.size;
  }

  /** Begins an attack, or with undefined tells the truth again. */
  set mode(mode: string | undefined) {
    this.#mode = mode;
    this.#flood = FLOODS[mode ?? '']?.();
    // Whoever listens meets it at the start.
    for (const socket of this.#server.clients) socket.terminate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#source.terminate();
    for (const socket of this.#server.clients) socket.terminate();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #treat(socket: WebSocket, raw: Socket): void {
    socket.on('error', () => undefined);
    const mode = this.#mode ?? '';
    CONNECTIONS[mode]?.(socket, raw);
    const flood = this.#flood;
    if (flood === undefined) return;
    const timer = setInterval(() => {
      // Only what the other side takes: the test must not run out of memory before the node does.
      if (socket.bufferedAmount < 1 << 26) for (const message of flood.messages) socket.send(message);
    }, flood.everyMs);
    socket.on('close', () => clearInterval(timer));
  }

  #pass(data: RawData): void {
    const mode = this.#mode ?? '';
    if (mode in FLOODS || mode in CONNECTIONS) return;
    const change = CHANGES[mode];
    const text = (data as Buffer).toString();
    const texts =
      change === undefined
        ? [text]
        : change(JSON.parse(text) as Message).map((message) => JSON.stringify(message));
    for (const socket of this.#server.clients) {
      if (socket.readyState !== socket.OPEN) continue;
      for (const each of texts) socket.send(each);
    }
  }
}
