// A process of its own that holds many subscribers. Its first message says which; the second, when the flashblocks were
// published, and it answers with how long after that each client had its last log of each.
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { WebSocket } from 'ws';
import { startChild } from './child.ts';
import { now } from './preconfirmed/clock.ts';
import { subscribe } from './preconfirmed/logs.ts';

/** Clients that want the same. */
export interface ClientKind {
  readonly name: string;
  readonly count: number;
  /** One for each client, in turn. */
  readonly filters: readonly object[];
  /** Logs of every flashblock that such a client must be sent. */
  readonly logs: number;
}

interface Plan {
  readonly url: string;
  readonly kinds: readonly ClientKind[];
}

interface KindResult {
  readonly name: string;
  /** Milliseconds, one for each client and flashblock. */
  readonly lags: Float64Array;
  readonly messages: number;
  /** Clients that had more or fewer messages than they must have. */
  readonly wrong: number;
  /** Messages that take a log back: nothing is, here. */
  readonly removed: number;
  readonly closed: number;
}

export interface RunningClients extends AsyncDisposable {
  /** `publishedAt`: of every flashblock with logs. Waits for what is still on its way. */
  results(publishedAt: readonly number[]): Promise<readonly KindResult[]>;
}

/** At the same time. */
const connecting = 32;
const lastMessageDeadlineMs = 20_000;
const takenBack = Buffer.from('"removed":true');

/** Starts clients in a process of their own; all are subscribed when it resolves. */
export async function startClients(plan: Plan): Promise<RunningClients> {
  const child = await startChild(fileURLToPath(import.meta.url), 'the clients', plan);
  return {
    results: async (publishedAt) => (await child.ask(publishedAt)) as readonly KindResult[],
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

/** One subscriber. Its messages come in order, so that their number says which flashblock they are of. */
class Client {
  readonly #logs: number;
  /** When its last log of each flashblock came. */
  readonly completedAt: number[] = [];
  messages = 0;
  removed = 0;
  closed = false;

  constructor(logs: number) {
    this.#logs = logs;
  }

  async connect(url: string, filter: object): Promise<void> {
    const socket: WebSocket = await subscribe(url, ['pendingLogs', filter], (message) => {
      if (message.includes(takenBack)) this.removed += 1;
      this.messages += 1;
      if (this.messages % this.#logs === 0) this.completedAt.push(now());
    });
    socket.on('close', () => {
      this.closed = true;
    });
  }

  has(flashblocks: number): boolean {
    return this.closed || this.messages >= flashblocks * this.#logs;
  }

  isRight(flashblocks: number): boolean {
    return this.messages === flashblocks * this.#logs;
  }
}

async function run({ url, kinds }: Plan): Promise<void> {
  const clients = kinds.map(({ count, logs }) => Array.from({ length: count }, () => new Client(logs)));
  const waiting = kinds.flatMap(({ filters }, kind) =>
    (clients[kind] ?? []).map((client, at) => ({ client, filter: filters[at % filters.length] as object })),
  );
  const connectAll = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
      await next.client.connect(url, next.filter);
  };
  await Promise.all(Array.from({ length: connecting }, connectAll));
  process.send?.('ready');
  const [publishedAt] = (await once(process, 'message')) as [readonly number[]];
  const deadline = now() + lastMessageDeadlineMs;
  while (now() < deadline && !clients.flat().every((client) => client.has(publishedAt.length)))
    await pause(50);
  const results = kinds.map(({ name }, kind): KindResult => {
    const list = clients[kind] ?? [];
    return {
      name,
      lags: Float64Array.from(
        list.flatMap(({ completedAt }) =>
          completedAt.map((at, flashblock) => at - (publishedAt[flashblock] ?? at)),
        ),
      ),
      messages: list.reduce((sum, { messages }) => sum + messages, 0),
      wrong: list.filter((client) => !client.isRight(publishedAt.length)).length,
      removed: list.reduce((sum, { removed }) => sum + removed, 0),
      closed: list.filter(({ closed }) => closed).length,
    };
  });
  process.send?.(results, () => process.exit());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [plan] = (await once(process, 'message')) as [Plan];
  await run(plan);
}
