// A process of its own that hears of blocks at the upstream, by WebSocket, and asks our node for each on many
// connections. Its first message says which blocks will come; any other asks for what came of it.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Hex } from 'viem';
import type { Call } from '../../test/support/servers/rpc-client.ts';
import { type Child, startChild } from '../child.ts';
import { now } from '../preconfirmed/clock.ts';
import { Connection, encodeRequest } from '../preconfirmed/http.ts';
import { subscribe } from '../preconfirmed/logs.ts';

/** A block, questions that each show it, and text that only an answer which knows the block has. */
export interface ExpectedBlock {
  readonly number: number;
  readonly hash: Hex;
  readonly probes: readonly { readonly call: Call; readonly expected: string }[];
}

interface Plan {
  /** WebSocket of the upstream. */
  readonly upstream: string;
  readonly url: string;
  readonly blocks: readonly ExpectedBlock[];
}

export interface Seen {
  /** Milliseconds from the upstream's message to the last answer, for each block. */
  readonly lags: readonly number[];
  /** Answers that did not show their block. */
  readonly wrong: readonly string[];
}

/** The kernel spreads them over the threads: all of 16 on one of two is one case of 30,000. */
const connectionCount = 16;
const deadlineMs = 30_000;

/** Starts the observer; it is asked once for what it saw, and answers when the last block is readable. */
export function observe(plan: Plan): Promise<Child> {
  return startChild(fileURLToPath(import.meta.url), 'the observer', plan);
}

async function run({ upstream, url, blocks }: Plan): Promise<void> {
  const heads = new Map(blocks.map(({ hash }) => [hash as string, Promise.withResolvers<number>()]));
  const socket = await subscribe(upstream, ['newHeads'], (message) => {
    const at = now();
    const { params } = JSON.parse(message.toString()) as {
      readonly params: { readonly result: { readonly hash: Hex } };
    };
    heads.get(params.result.hash)?.resolve(at);
  });
  const connections = await Promise.all(Array.from({ length: connectionCount }, () => Connection.open(url)));
  process.send?.('ready');
  const wanted = once(process, 'message');
  const lags: number[] = [];
  const wrong: string[] = [];
  for (const { number, hash, probes } of blocks) {
    const answers = connections.map(async (connection, at) => {
      const probe = probes[at % probes.length];
      if (probe === undefined) throw new Error('nothing to ask');
      // Asked before the block is there, the node answers as soon as it is.
      const received = await connection.ask(encodeRequest(probe.call, String(number)));
      if (!received.body.includes(probe.expected)) {
        wrong.push(`${probe.call.method} at block ${number}: ${received.body.subarray(0, 300).toString()}`);
      }
      return received.at;
    });
    const late = setTimeout(() => {
      throw new Error(`block ${number} is not readable after ${deadlineMs} ms`);
    }, deadlineMs);
    const answeredAt = await Promise.all(answers);
    const headAt = (await heads.get(hash)?.promise) ?? Number.NaN;
    clearTimeout(late);
    lags.push(Math.max(...answeredAt) - headAt);
  }
  await wanted;
  socket.terminate();
  const seen: Seen = { lags, wrong };
  process.send?.(seen, () => process.exit());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [plan] = (await once(process, 'message')) as [Plan];
  await run(plan);
}
