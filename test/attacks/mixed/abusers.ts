import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { neverReady } from '../clients/sending.ts';
import { ACTOR, looped, signatures, writesSlots } from '../evm.ts';
import { clientFrame, meaning, plainRequest, rpc, type Target } from '../target.ts';

/** What abusers know of the node. */
export interface Known {
  readonly publicPort: number;
  readonly dedicatedPort: number;
  /** A key for the dedicated listener. */
  readonly key: string;
}

/** A client that means no good, and what it expects to be told: by status, and by code and words of an error. */
export interface Abuser {
  readonly run: (target: Target, known: Known) => Promise<void>;
  readonly isDedicated?: boolean;
  readonly answers: RegExp;
  /** One that there has to be. */
  readonly mustAnswer: RegExp;
}

/** Shorter than a request may take. */
const SYNC_MS = 5_000;
const RATE = '429 429 too many requests, rate limit';
const OVERLOAD = '503 -32005 the node is overloaded, try again later';
const TIME_LIMIT = '200 -32000 (?:call|trace|query) exceeded the time limit';
/** One of these beginnings. */
const told = (...words: readonly string[]): RegExp => new RegExp(`^(?:${words.join('|')})`);
const many = <T>(length: number, make: (at: number) => T): T[] => Array.from({ length }, (_, at) => make(at));

/** Does something again and again in so many lanes until the time is over. */
async function lanes(target: Target, count: number, act: () => Promise<unknown>, pauseMs = 0): Promise<void> {
  const lane = async (): Promise<void> => {
    while (!target.isOver) {
      await act();
      if (pauseMs > 0) await pause(pauseMs);
    }
  };
  await Promise.all(many(count, lane));
}

/** Counts what a raw connection is told. */
function noteAnswers(
  target: Target,
  socket: Socket,
  onAnswer: (status: string) => void = () => undefined,
): void {
  socket.on('data', (data: Buffer) => {
    const text = data.toString('latin1');
    const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1];
    if (status === undefined) return;
    const body = text.slice(text.indexOf('\r\n\r\n') + 4);
    target.note(`${status} ${meaning(body)}`.trimEnd());
    onAnswer(status);
  });
}

/** Sends the same again on so many connections as soon as it is answered: at once, or after a while if it was refused. */
async function holds(target: Target, connections: number, request: string): Promise<void> {
  const hold = async (): Promise<void> => {
    const socket = await target.connect();
    noteAnswers(target, socket, (status) => {
      if (target.isOver) return;
      setTimeout(() => void target.write(socket, request), status === '200' ? 0 : 500);
    });
    await target.write(socket, request);
  };
  for (let left = connections; left > 0 && !target.isOver; left -= 10) await Promise.all(many(10, hold));
  await target.end();
}

const BATCH_CALL = { to: ACTOR, data: '0x' };
const batchOf = (count: number): string =>
  `[${many(count, () => rpc('eth_call', [BATCH_CALL, 'latest'])).join(',')}]`;
const traceOf = (code: string): string =>
  rpc('debug_traceCall', [
    { to: ACTOR },
    'latest',
    { enableMemory: true, stateOverrides: { [ACTOR]: { code, state: {} } } },
  ]);

export const ABUSERS: Readonly<Record<string, Abuser>> = {
  'no-keep-alive': {
    run: (target) =>
      lanes(target, 10, () => target.post(rpc('eth_blockNumber', []), { keepsAlive: false }), 10),
    answers: told('200 a result$', RATE),
    mustAnswer: told('200 a result$'),
  },
  'huge-batches': {
    async run(target) {
      const [whole, tooMany] = [batchOf(100), batchOf(101)];
      let next = 0;
      await lanes(target, 4, () => target.post(next++ % 4 === 0 ? tooMany : whole));
    },
    answers: told('200 a result$', '200 -32600 batch', RATE, OVERLOAD),
    mustAnswer: told('200 -32600 batch'),
  },
  'wide-logs': {
    run: (target) =>
      lanes(target, 4, () => target.post(rpc('eth_getLogs', [{ fromBlock: 'earliest', toBlock: 'latest' }]))),
    answers: told('200 a result$', '200 -32602 query exceeds max', RATE, OVERLOAD, TIME_LIMIT),
    mustAnswer: told('200 -32602 query exceeds max'),
  },
  'slow-bodies': {
    async run(target) {
      const head = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
      await lanes(target, 50, async () => {
        const socket = await target.connect();
        noteAnswers(target, socket);
        await target.write(socket, `${head}Content-Length: 1000\r\n\r\n{`);
        while (!socket.destroyed && !target.isOver) {
          await pause(1_000);
          await target.write(socket, ' ');
        }
        if (!target.isOver) target.note('closed');
      });
    },
    answers: told('408', 'closed$'),
    mustAnswer: told('closed$'),
  },
  'wrong-keys': {
    isDedicated: true,
    async run(target) {
      const guess = (): string =>
        `cq_${randomBytes(6).toString('hex')}_${randomBytes(32).toString('base64url')}`;
      const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtZSIsImV4cCI6OTk5OTk5OTk5OX0.';
      let next = 0;
      await lanes(target, 8, () => {
        const credential = next++ % 2 === 0 ? guess() : `${token}${randomBytes(32).toString('base64url')}`;
        const headers = { authorization: `Bearer ${credential}` };
        return target.post(rpc('eth_blockNumber', []), { headers });
      });
    },
    answers: told('401 -32600 unauthorized'),
    mustAnswer: told('401 -32600 unauthorized'),
  },
  'gas-calls': {
    async run(target) {
      const body = rpc('eth_call', [{ to: ACTOR }, 'latest', { [ACTOR]: { code: signatures } }]);
      await lanes(target, 8, () => target.post(body));
    },
    answers: told('200 -32000 (?:out of gas|gas)', TIME_LIMIT, RATE, OVERLOAD),
    mustAnswer: told('200 -32000'),
  },
  traces: {
    isDedicated: true,
    async run(target, { key, publicPort }) {
      const bodies = [traceOf(writesSlots), traceOf(looped([], []))];
      let next = 0;
      await lanes(target, 6, () => {
        const body = bodies[next % bodies.length] ?? '';
        // Now and then where it is not served.
        const asking = next++ % 10 === 0 ? { port: publicPort } : { headers: { 'x-api-key': key } };
        return target.post(body, asking);
      });
    },
    answers: told(
      '200 a result$',
      '200 -32000 the trace is too large',
      '403 -32004',
      TIME_LIMIT,
      OVERLOAD,
      RATE,
    ),
    mustAnswer: told('403 -32004'),
  },
  'waits-for-blocks': {
    run(target) {
      const body = rpc('eth_chainId', []);
      const head = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
      const request = `${head}x-chain-at-least: 900\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      return holds(target, 200, request);
    },
    answers: told('200 -32001', OVERLOAD, RATE),
    mustAnswer: told('200 -32001'),
  },
  'waits-for-receipts': {
    async run(target) {
      const request = plainRequest(
        rpc('eth_sendRawTransactionSync', [await neverReady(target.seed), SYNC_MS]),
      );
      await holds(target, 200, request);
    },
    answers: told('200 [45] ', OVERLOAD, RATE),
    mustAnswer: told('200 [45] '),
  },
  'websocket-churn': {
    async run(target) {
      const frames = Buffer.concat([
        clientFrame(rpc('eth_subscribe', ['newHeads'])),
        clientFrame(rpc('eth_subscribe', ['logs', {}])),
        clientFrame(rpc('eth_blockNumber', [])),
      ]);
      await lanes(target, 10, async () => {
        const socket = await target.webSocket((answer) => target.note(answer.slice(9, 12)));
        socket.resume();
        await target.write(socket, frames);
        await pause(20);
        socket.destroy();
      });
    },
    answers: told('101$', '429$', '503$'),
    mustAnswer: told('101$'),
  },
};

/** The abuser with a name. */
export function abuserOf(name: string): Abuser {
  const abuser = ABUSERS[name];
  if (abuser === undefined) throw new Error(`no abuser ${name}`);
  return abuser;
}
