// Honest clients in a thread of their own: light requests over kept connections, each timed.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { WebSocket } from 'ws';
import { plainRequest } from './target.ts';

/** What honest clients went through. */
export interface HonestReport {
  readonly requests: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Of each method, in milliseconds. */
  readonly p99ByMethod: Readonly<Record<string, number>>;
  /** When each head was first seen, by its number. */
  readonly heads: readonly (readonly [number, number])[];
}

/** Whom honest clients ask, how often, and what. */
export interface HonestClients {
  readonly port: number;
  readonly clients: number;
  readonly everyMs: number;
  readonly bodies: readonly string[];
  /** How many of them use WebSocket. */
  readonly webSockets?: number;
  /** Where each comes from; all from one address where it is left out. */
  readonly from?: readonly string[];
}

const { port, clients, everyMs, bodies, webSockets = 0, from = [] } = workerData as HonestClients;

const latencies: number[] = [];
const byMethod = new Map<string, number[]>();

/** Notes how long an answer took. */
function note(body: string, startedMs: number): void {
  const took = performance.now() - startedMs;
  latencies.push(took);
  const method = /"method":"(\w+)"/.exec(body)?.[1] ?? '';
  const own = byMethod.get(method) ?? [];
  byMethod.set(method, own);
  own.push(took);
}
const heads = new Map<number, number>();
let failed = 0;
const over = new AbortController();

/** One client, which connects again when it is cut off. */
async function client(offset: number): Promise<void> {
  let turn = offset;
  while (!over.signal.aborted) {
    const localAddress = from[offset % from.length];
    const socket = connect({ port, host: '127.0.0.1', ...(localAddress !== undefined && { localAddress }) });
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    let text = '';
    let answered: ((isWhole: boolean) => void) | undefined;
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
      if (end !== -1 && text.length >= end + 4 + length) answered?.(true);
    });
    socket.on('close', () => answered?.(false));
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => undefined);
    while (!over.signal.aborted && !socket.destroyed) {
      text = '';
      const whole = new Promise<boolean>((resolve) => {
        answered = resolve;
      });
      const body = bodies[turn++ % bodies.length] ?? '';
      const started = performance.now();
      socket.write(plainRequest(body));
      const isWhole = await whole;
      if (over.signal.aborted) break;
      if (!isWhole || !text.startsWith('HTTP/1.1 200') || text.includes('"error"')) failed++;
      else note(body, started);
      const head = Number(/x-chain-head: (\d+)/.exec(text)?.[1]);
      if (!Number.isNaN(head) && !heads.has(head)) heads.set(head, Date.now());
      await pause(everyMs);
    }
    socket.destroy();
  }
}

/** The same over WebSocket. */
async function webSocketClient(offset: number): Promise<void> {
  let turn = offset;
  while (!over.signal.aborted) {
    const localAddress = from[offset % from.length];
    const socket = new WebSocket(
      `ws://127.0.0.1:${port}`,
      localAddress === undefined ? {} : { localAddress },
    );
    socket.on('error', () => undefined);
    const closed = new Promise<undefined>((resolve) => socket.on('close', () => resolve(undefined)));
    await Promise.race([once(socket, 'open').catch(() => undefined), closed]);
    while (!over.signal.aborted && socket.readyState === WebSocket.OPEN) {
      const started = performance.now();
      const answered = new Promise<string>((resolve) =>
        socket.once('message', (data: Buffer) => resolve(data.toString())),
      );
      const body = bodies[turn++ % bodies.length] ?? '';
      socket.send(body);
      const answer = await Promise.race([answered, closed]);
      if (over.signal.aborted) break;
      if (answer === undefined || answer.includes('"error"')) failed++;
      else note(body, started);
      await pause(everyMs);
    }
    socket.terminate();
  }
}

void Promise.all(
  Array.from({ length: clients }, (_, index) =>
    index < webSockets ? webSocketClient(index) : client(index),
  ),
);
parentPort?.once('message', () => {
  over.abort();
  const at = (share: number, all = latencies): number =>
    all.toSorted((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * share))] ?? 0;
  const report: HonestReport = {
    ...{ requests: latencies.length, failed, p50: at(0.5), p99: at(0.99), max: at(1) },
    p99ByMethod: Object.fromEntries([...byMethod].map(([method, own]) => [method, at(0.99, own)])),
    heads: [...heads],
  };
  parentPort?.postMessage(report);
  parentPort?.close();
});
