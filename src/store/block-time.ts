import { timestampOf } from '../chain/header-time.ts';
import { andThen } from '../primitives/awaitable.ts';
import type { Awaitable } from '../primitives/hex.ts';
import type { StoreReader } from './interface.ts';

/** Stretches of blocks that are measured, and blocks in each, at most. */
const STRETCHES = 8;
const STRETCH_BLOCKS = 64;
/** Timestamps are whole seconds, and blocks may share one: a shorter time says nothing. */
const LEAST_SECONDS = 8;
/** A measurement holds for so many blocks. */
const HELD_BLOCKS = 64;

/** The time between two blocks of a chain, measured by the newest that a store holds. */
export class BlockTime {
  readonly #store: Pick<StoreReader, 'canonicalHash' | 'header'>;
  #measured: { readonly at: number; readonly ms: number | undefined } | undefined;

  constructor(store: Pick<StoreReader, 'canonicalHash' | 'header'>) {
    this.#store = store;
  }

  /** In milliseconds; undefined where there are too few blocks to tell. */
  ms(head: number, lowest: number): Awaitable<number | undefined> {
    const known = this.#measured;
    if (known?.ms !== undefined && Math.abs(head - known.at) < HELD_BLOCKS) return known.ms;
    return this.#measure(head, lowest).then((ms) => {
      this.#measured = { at: head, ms };
      return ms;
    });
  }

  async #measure(head: number, lowest: number): Promise<number | undefined> {
    const blocks = Math.min(STRETCH_BLOCKS, Math.floor((head - lowest) / STRETCHES));
    if (blocks < 1) return undefined;
    const times: number[] = [];
    for (let number = head - STRETCHES * blocks; number <= head; number += blocks) {
      const time = await this.#timeOf(number);
      // Taken off or deleted meanwhile: the next one who asks will find others.
      if (time === undefined) return undefined;
      times.push(time);
    }
    return blockTimeOf(times, blocks);
  }

  #timeOf(number: number): Awaitable<number | undefined> {
    return andThen(this.#store.canonicalHash(number), (hash) =>
      hash === undefined
        ? undefined
        : andThen(this.#store.header({ number, hash }), (header) => header && timestampOf(header)),
    );
  }
}

/** From the times of blocks that are so many apart: the middle one of the stretches, so that a halt of the chain does not count. */
export function blockTimeOf(times: readonly number[], blocks: number): number | undefined {
  const first = times[0] ?? 0;
  if ((times.at(-1) ?? 0) - first < LEAST_SECONDS) return undefined;
  const stretches = times.slice(1).map((time, at) => time - (times[at] ?? 0));
  const middle = stretches.toSorted((a, b) => a - b).slice(stretches.length / 4, (3 * stretches.length) / 4);
  const seconds = middle.reduce((sum, each) => sum + each, 0) / middle.length;
  return seconds > 0 ? (1_000 * seconds) / blocks : undefined;
}
