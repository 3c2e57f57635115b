// A process of its own that sends requests at a fixed rate, whether or not they are answered in time. Its first message
// says what to send; any other ends it, and it says what came of it.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startChild } from '../child.ts';
import { now, quantile } from './clock.ts';
import { Connection } from './http.ts';

export interface LoadPlan {
  readonly url: string;
  readonly perSecond: number;
  /** Whole requests, sent in turn. */
  readonly requests: readonly Buffer[];
}

export interface LoadResult {
  readonly perSecond: number;
  readonly failed: number;
  /** From when a request was due. */
  readonly p50: number;
  readonly p99: number;
}

export interface RunningLoad extends AsyncDisposable {
  stop(): Promise<LoadResult>;
}

const connectionCount = 64;
/** Further behind than this, requests are not sent at all; the rate shows it. */
const waitingLimit = 20_000;
const tickMs = 2;

/** Starts the load in a process of its own. */
export async function startLoad(plan: LoadPlan): Promise<RunningLoad> {
  const child = await startChild(fileURLToPath(import.meta.url), 'the load', plan);
  return {
    stop: async () => (await child.ask('stop')) as LoadResult,
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

async function run({ url, perSecond, requests }: LoadPlan): Promise<void> {
  const free = await Promise.all(Array.from({ length: connectionCount }, () => Connection.open(url)));
  const taken: number[] = [];
  /** When each request that waits for a connection was due. */
  const waiting: number[] = [];
  let next = 0;
  let failed = 0;
  let due = 0;
  const began = now();
  /** Sends what is due, and then whatever waits, until nothing does. */
  const serve = async (connection: Connection, firstDueAt: number): Promise<void> => {
    for (let dueAt: number | undefined = firstDueAt; dueAt !== undefined; dueAt = waiting.shift()) {
      try {
        const { at, body } = await connection.ask(requests[next++ % requests.length] as Buffer);
        taken.push(at - dueAt);
        if (!body.subarray(0, 64).includes('"result"')) failed++;
      } catch (error) {
        failed++;
        console.error(`the load lost a connection: ${String(error)}`);
        return;
      }
    }
    free.push(connection);
  };
  const timer = setInterval(() => {
    const dueNow = Math.floor(((now() - began) * perSecond) / 1000);
    for (; due < dueNow; due++) {
      const dueAt = began + (due * 1000) / perSecond;
      const connection = free.shift();
      if (connection !== undefined) void serve(connection, dueAt);
      else if (waiting.length < waitingLimit) waiting.push(dueAt);
    }
  }, tickMs);
  process.send?.('ready');
  await once(process, 'message');
  clearInterval(timer);
  const result: LoadResult = {
    perSecond: (taken.length * 1000) / (now() - began),
    failed,
    p50: quantile(taken, 0.5),
    p99: quantile(taken, 0.99),
  };
  process.send?.(result, () => process.exit());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [plan] = (await once(process, 'message')) as [LoadPlan];
  await run(plan);
}
