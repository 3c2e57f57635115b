import { setTimeout as delay } from 'node:timers/promises';
import type { Head, Point } from '../../head/head.ts';
import type { Snapshot } from '../../head/snapshot.ts';
import { Shares } from '../../primitives/shares.ts';
import { RpcFailure } from './error-map.ts';
import type { Task } from './task.ts';

/** By this request header a client says which block or flashblock the answer must know of (B3). */
export const AT_LEAST_HEADER = 'x-chain-at-least';

/** Any number of this many digits is exact. */
const AT_LEAST = /^(\d{1,15})(?:;(\d{1,9}))?$/;

/**
 * Reads `<number>[;<index>]`, in decimal like `x-chain-head` and `x-chain-pending`. The index names a flashblock of
 * block `number`; that block confirmed contains it too. Anything malformed is refused with HTTP 400: to ignore it
 * would be to read backwards, silently.
 */
export function parseAtLeast(value: string): Point {
  const [, number, index] = AT_LEAST.exec(value) ?? [];
  if (number === undefined) throw new RpcFailure({ code: 'BAD_AT_LEAST', header: AT_LEAST_HEADER });
  return { number: Number(number), index: index === undefined ? undefined : Number(index) };
}

/** The point where everybody begins. */
export const ANY_POINT: Point = { number: 0 };

/** In the words of the header. */
export function formatPoint({ number, index }: Point): string {
  return index === undefined ? `${number}` : `${number};${index}`;
}

export interface AtLeastOptions {
  /** How long a request may wait for the block that its client asks for at least; 0 is not at all. Default: 2,000. */
  readonly atLeastWaitMs?: number;
  /** Requests that may wait so at the same time, of which one client may have half; more are refused at once. Default: 256. */
  readonly maxAtLeastWaiting?: number;
}

const WAIT_MS = 2_000;
const MAX_WAITING = 256;
/** More blocks than any chain makes while a request may wait. */
const FAR_BLOCKS = 1_000;
/** After which who asks for such a one hears so: it holds no place, and must not be quicker to ask again than who waits. */
const FAR_PAUSE_MS = 500;

/** Requests that wait for a block. */
export class AtLeastWaits {
  readonly #head: Pick<Head, 'snapshot' | 'reached'>;
  readonly #waitMs: number;
  /** By client: those of one are never so many that others find no place. */
  readonly #places: Shares;

  constructor(head: Pick<Head, 'snapshot' | 'reached'>, options: AtLeastOptions) {
    this.#head = head;
    this.#waitMs = options.atLeastWaitMs ?? WAIT_MS;
    this.#places = Shares.ofPlaces(options.maxAtLeastWaiting ?? MAX_WAITING);
  }

  /** Waits for the point that a request asks for; `late` soon where it is so far above the head that waiting is in vain. */
  async wait(task: Task, { head }: Snapshot): Promise<'reached' | 'late' | 'full'> {
    const { client, atLeast, caller } = task;
    if (atLeast.number > head.number + FAR_BLOCKS) {
      await delay(Math.min(FAR_PAUSE_MS, this.#waitMs));
      return 'late';
    }
    if (!this.#places.take(client, 1)) return 'full';
    const now = performance.now();
    task.waitUntil ??= now + this.#waitMs;
    try {
      return (await this.#head.reached(atLeast, task.waitUntil - now, caller.signal)) ? 'reached' : 'late';
    } finally {
      this.#places.give(client, 1);
    }
  }

  /** That a point was not reached. */
  failure(point: Point): RpcFailure {
    return new RpcFailure({
      code: 'NOT_REACHED',
      header: AT_LEAST_HEADER,
      point: formatPoint(point),
      head: this.#head.snapshot().head.number,
      milliseconds: this.#waitMs,
    });
  }
}
