import type { AddressInfo } from 'node:net';
import { type RawData, WebSocket, WebSocketServer } from 'ws';

/**
 * Lets many read while nobody mines. Anvil answers about its newest block, named by its hash, from the state that it has at that moment: of a
 * question that is under way when a block comes, it says what is true of the next one.
 */
export class Stillness {
  #reading = 0;
  #mining: Promise<void> | undefined;
  #quiet: (() => void) | undefined;

  /** Asks, once no block is being mined. */
  async read<T>(ask: () => Promise<T>): Promise<T> {
    while (this.#mining !== undefined) await this.#mining;
    this.#reading += 1;
    try {
      return await ask();
    } finally {
      this.#reading -= 1;
      if (this.#reading === 0) this.#quiet?.();
    }
  }

  /** Mines, once all questions are answered; those that come meanwhile wait. */
  async mine(work: () => Promise<void>): Promise<void> {
    if (this.#mining !== undefined) throw new Error('a block is being mined already');
    const done = Promise.withResolvers<void>();
    this.#mining = done.promise;
    try {
      if (this.#reading > 0) await new Promise<void>((resolve) => (this.#quiet = resolve));
      await work();
    } finally {
      this.#quiet = undefined;
      this.#mining = undefined;
      done.resolve();
    }
  }
}

/** A WebSocket address in front of a server, through which questions wait for stillness. */
export async function startStillProxy(
  target: string,
  still: Stillness,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  server.on('connection', (client) => {
    const upstream = new WebSocket(target);
    const opened = new Promise<void>((resolve) => upstream.once('open', resolve));
    const unanswered = new Map<string, () => void>();
    const end = (): void => {
      client.terminate();
      upstream.terminate();
      for (const answered of unanswered.values()) answered();
      unanswered.clear();
    };
    client.on('message', (data) => {
      const text = textOf(data);
      void still.read(async () => {
        await opened;
        if (upstream.readyState !== WebSocket.OPEN) return;
        const { promise, resolve } = Promise.withResolvers<void>();
        unanswered.set(idsIn(text), resolve);
        upstream.send(text);
        await promise;
      });
    });
    upstream.on('message', (data) => {
      const text = textOf(data);
      const ids = idsIn(text);
      client.send(text);
      unanswered.get(ids)?.();
      unanswered.delete(ids);
    });
    // Either end may break at any time, and takes the other with it.
    for (const socket of [client, upstream]) socket.on('close', end).on('error', end);
  });
  await new Promise<void>((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const client of server.clients) client.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function textOf(data: RawData): string {
  return (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as ArrayBuffer)).toString('utf8');
}

/** What tells which answer belongs to which question; news of subscriptions has none. */
function idsIn(text: string): string {
  const message = JSON.parse(text) as { readonly id?: unknown } | readonly { readonly id?: unknown }[];
  const entries = Array.isArray(message) ? message : [message];
  return entries
    .map(({ id }) => JSON.stringify(id))
    .toSorted()
    .join();
}
