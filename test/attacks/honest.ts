// Honest clients in a thread of their own: light requests over kept connections, each timed.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { plainRequest } from './target.ts';

/** What honest clients went through. */
export interface HonestReport {
  readonly requests: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** When each head was first seen, by its number. */
  readonly heads: readonly (readonly [number, number])[];
}

const { port, clients, everyMs, bodies } = workerData as {
  readonly port: number;
  readonly clients: number;
  readonly everyMs: number;
  readonly bodies: readonly string[];
};

const latencies: number[] = [];
const heads = new Map<number, number>();
let failed = 0;
const over = new AbortController();

/** One client, which connects again when it is cut off. */
async function client(offset: number): Promise<void> {
  let turn = offset;
  while (!over.signal.aborted) {
    const socket = connect(port, '127.0.0.1');
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
      const started = performance.now();
      socket.write(plainRequest(bodies[turn++ % bodies.length] ?? ''));
      const isWhole = await whole;
      if (over.signal.aborted) break;
      if (!isWhole || !text.startsWith('HTTP/1.1 200') || text.includes('"error"')) failed++;
      else latencies.push(performance.now() - started);
      const head = Number(/x-chain-head: (\d+)/.exec(text)?.[1]);
      if (!Number.isNaN(head) && !heads.has(head)) heads.set(head, Date.now());
      await pause(everyMs);
    }
    socket.destroy();
  }
}

void Promise.all(Array.from({ length: clients }, (_, index) => client(index)));
parentPort?.once('message', () => {
  over.abort();
  const sorted = latencies.sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const report: HonestReport = {
    ...{ requests: sorted.length, failed, p50: at(0.5), p99: at(0.99), max: at(1) },
    heads: [...heads],
  };
  parentPort?.postMessage(report);
  parentPort?.close();
});
