import type { Hex } from 'viem';
import { WebSocket } from 'ws';
import type { PreconfirmedRig } from '../preconfirmed/rig.ts';
import type { ServedNode } from '../preconfirmed/served-node.ts';

/** One subscriber that reads all it is sent, and looks at none of it. */
class Subscriber {
  readonly #socket: WebSocket;
  messages = 0;
  bytes = 0;
  closed: number | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('close', (code) => {
      this.closed = code;
    });
    // The close that follows says what is to be known.
    socket.on('error', () => undefined);
  }

  static async start(url: string, params: readonly unknown[]): Promise<Subscriber> {
    const socket = new WebSocket(url.replace(/^http/, 'ws'), { perMessageDeflate: false });
    const subscriber = new Subscriber(socket);
    const answer = new Promise<Buffer>((resolve, reject) => {
      socket.once('message', resolve);
      socket.once('error', reject);
    });
    socket.once('open', () =>
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params })),
    );
    const text = (await answer).toString('utf8');
    if (!text.includes('"result"')) throw new Error(`${JSON.stringify(params)}: ${text}`);
    socket.on('message', (data: Buffer) => {
      subscriber.messages += 1;
      subscriber.bytes += data.length;
    });
    return subscriber;
  }

  end(): void {
    this.#socket.terminate();
  }
}

/** Subscribers of every kind, on both listeners. */
export class Audience implements Disposable {
  readonly #subscribers: readonly Subscriber[];

  private constructor(subscribers: readonly Subscriber[]) {
    this.#subscribers = subscribers;
  }

  static async start(node: ServedNode, { workload }: PreconfirmedRig): Promise<Audience> {
    const watched: readonly Hex[] = [
      ...[...workload.senders, ...workload.authorities].map(({ address }) => address),
      ...(['Workshop', 'Counter', 'Proxy'] as const).map((name) => workload.addressOf(name)),
    ];
    const workshop = { address: workload.addressOf('Workshop') };
    const wanted: readonly (readonly unknown[])[] = [
      ...[['pendingLogs'], ['pendingLogs'], ['pendingLogs', workshop], ['pendingLogs', workshop]],
      ...[['pendingLogs'], ['logs'], ['logs', workshop], ['newHeads'], ['newHeads']],
      ...[['newFlashblocks'], ['newFlashblocks'], ['newFlashblockTransactions']],
      ...[
        ['newFlashblockTransactions', true],
        ['stateChanges', watched],
        ['stateChanges', watched],
      ],
    ];
    const urls = [node.url, node.publicUrl];
    return new Audience(
      await Promise.all(wanted.map((params, at) => Subscriber.start(urls[at % 2] as string, params))),
    );
  }

  get size(): number {
    return this.#subscribers.length;
  }

  get messages(): number {
    return this.#subscribers.reduce((sum, { messages }) => sum + messages, 0);
  }

  get bytes(): number {
    return this.#subscribers.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Those that were told nothing, or were closed. */
  get left(): number {
    return this.#subscribers.filter(({ closed, messages }) => closed !== undefined || messages === 0).length;
  }

  [Symbol.dispose](): void {
    for (const subscriber of this.#subscribers) subscriber.end();
  }
}
