import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Hex } from 'viem';
import type { Random } from '../../support/random.ts';
import { type Call, send, sendBatchNoting } from '../../support/servers/rpc-client.ts';

/** How far an answer is: a block, and a flashblock of it; none where the block is confirmed. */
interface Point {
  readonly number: number;
  readonly index: number | undefined;
}

/** What clients of one test have read: counted, and what was wrong with it. */
export interface Reads {
  count: number;
  /** With pre-confirmed state. */
  preconfirmed: number;
  compared: number;
  longestMs: number;
  readonly failed: string[];
  readonly wrong: string[];
}

export function newReads(): Reads {
  return { count: 0, preconfirmed: 0, compared: 0, longestMs: 0, failed: [], wrong: [] };
}

export interface CarryingModules {
  /** Where the next request goes. */
  readonly where: () => string;
  /** Accounts that send transactions: their nonces only grow as long as nothing is taken back. */
  readonly senders: readonly Hex[];
  /** Answers for the hash of every block so far, and which one a flashblock told of. */
  readonly truthUrl: string;
  readonly published: ReadonlyMap<string, Hex>;
  readonly reads: Reads;
  /** Hears how far each answer is. */
  readonly onPoint?: (point: Point, head: number) => void;
}

const COMPARED = 5;
const PAUSE_MS = 30;

const orderOf = ({ number, index }: Point): readonly [number, number] => [
  number,
  index ?? Number.POSITIVE_INFINITY,
];

function isBefore(one: Point, other: Point): boolean {
  const [number, index] = orderOf(one);
  const [otherNumber, otherIndex] = orderOf(other);
  return number < otherNumber || (number === otherNumber && index < otherIndex);
}

export const textOf = ({ number, index }: Point): string =>
  index === undefined ? `${number}` : `${number};${index}`;

/** What the headers of an answer say: how far it is, and the confirmed block below. */
export function pointOf(headers: Headers): {
  readonly point: Point;
  readonly head: number;
  readonly hash: Hex;
} {
  const [head = '', hash = ''] = (headers.get('x-chain-head') ?? '').split(';');
  const pending = headers.get('x-chain-pending');
  if (head === '' || pending === null) throw new Error('an answer names no snapshot');
  const [number = '', index] = pending === 'none' ? [head] : pending.split(';');
  const point = { number: Number(number), index: index === undefined ? undefined : Number(index) };
  return { point, head: Number(head), hash: hash as Hex };
}

/**
 * A client behind a balancer that carries how far its last answer was, flashblocks included. What it reads at `pending` must be the truth
 * at the flashblock that the answer names, and never older than what it has read before.
 */
export async function readCarrying(
  random: Random,
  modules: CarryingModules,
  signal: AbortSignal,
): Promise<void> {
  const { reads, senders } = modules;
  let seen: Point | undefined;
  const nonces = new Map<Hex, number>();
  while (!signal.aborted) {
    const sender = random.pick(senders);
    const calls: Call[] = [
      { method: 'eth_getTransactionCount', params: [sender, 'pending'] },
      { method: 'eth_blockNumber', params: [] },
      { method: 'eth_getBlockByNumber', params: ['pending', false] },
    ];
    const began = performance.now();
    try {
      const headers = seen === undefined ? {} : { 'x-chain-at-least': textOf(seen) };
      const { answers, headers: told } = await sendBatchNoting(modules.where(), calls, headers);
      const error = answers.find((answer) => 'error' in answer);
      if (error !== undefined) throw new Error(JSON.stringify(error));
      const { point, head, hash } = pointOf(told);
      const [nonce, number, block] = answers.map((answer) =>
        'result' in answer ? answer.result : undefined,
      );
      const pending = block as { readonly number: Hex };
      reads.count += 1;
      reads.preconfirmed += point.index === undefined ? 0 : 1;
      if (seen !== undefined && isBefore(point, seen))
        reads.wrong.push(`${textOf(point)} after ${textOf(seen)}`);
      if (Number(number) !== head || Number(pending.number) !== point.number)
        reads.wrong.push(
          `blocks ${Number(number)} and ${Number(pending.number)} in an answer of ${head} and ${textOf(point)}`,
        );
      const before = nonces.get(sender) ?? 0;
      if (Number(nonce) < before)
        reads.wrong.push(`nonce ${Number(nonce)} after ${before} at ${textOf(point)}`);
      seen = point;
      nonces.set(sender, Number(nonce));
      modules.onPoint?.(point, head);
      if (random.below(COMPARED) === 0) await compare(modules, sender, Number(nonce), point, hash);
    } catch (error) {
      reads.failed.push(inspect(error).slice(0, 400));
    }
    reads.longestMs = Math.max(reads.longestMs, performance.now() - began);
    await pause(random.below(PAUSE_MS));
  }
}

async function compare(
  { truthUrl, published, reads }: CarryingModules,
  sender: Hex,
  nonce: number,
  point: Point,
  head: Hex,
): Promise<void> {
  const blockHash = point.index === undefined ? head : published.get(textOf(point));
  const answer = await send(truthUrl, { method: 'eth_getTransactionCount', params: [sender, { blockHash }] });
  reads.compared += 1;
  if (!('result' in answer) || Number(answer.result) !== nonce)
    reads.wrong.push(`nonce ${nonce} at ${textOf(point)} in place of ${JSON.stringify(answer)}`);
}
