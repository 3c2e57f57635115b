import type { Receipt } from '../chain/receipt.ts';
import type { LoadContext } from '../executor/interface.ts';
import type { FeedEvent } from '../feed/interface.ts';
import { OverloadedError, StateUnavailableError } from '../primitives/errors.ts';
import { type Hex, toHex } from '../primitives/hex.ts';
import { Shares } from '../primitives/shares.ts';
import { receiptOf } from './block-answers.ts';
import { HeadError } from './errors.ts';
import type { Head } from './head.ts';
import type { Snapshot } from './snapshot.ts';

/** A receipt, and the snapshot that it is of. */
export interface ReadReceipt {
  readonly json: string;
  readonly snapshot: Snapshot;
}

/** A place among those who wait for receipts. */
export interface ReceiptPlace extends Disposable {
  /** Begins to wait for one, so that nothing is missed from now on. */
  expect(hash: Hex): ReceiptWait;
}

/** Somebody who waits for a receipt. */
export interface ReceiptWait {
  /** The receipt as soon as it can be read; undefined when the time is over or `signal` aborts. */
  read(timeoutMs: number, signal: AbortSignal): Promise<ReadReceipt | undefined>;
}

/** Those who wait for receipts: all of them hear of one event, and nobody looks again and again. */
export class ReceiptWaiters {
  readonly #head: Pick<Head, 'read'>;
  /** Those of one client are never so many that others find no place. */
  readonly #places: Shares;
  readonly #waiting = new Map<Hex, Set<() => void>>();

  constructor(head: Pick<Head, 'read'>, { max }: { readonly max: number }) {
    this.#head = head;
    this.#places = new Shares(max);
  }

  /** How many wait. */
  get count(): number {
    return this.#places.taken;
  }

  /** Takes what every thread answers from by now. */
  hear(event: FeedEvent): void {
    if (this.#waiting.size === 0) return;
    if (event.kind === 'preconfirmed') this.#seen(event.flashblock.outcome.receipts);
    if (event.kind === 'confirmed') for (const { outcome } of event.added) this.#seen(outcome.receipts);
    // Another copy may begin with blocks that nobody tells of.
    if (event.kind === 'anchored')
      for (const wakes of this.#waiting.values()) for (const wake of wakes) wake();
  }

  /** Takes a place; throws `OverloadedError` when too many have one, or too many of one client. */
  take(client: string): ReceiptPlace {
    if (!this.#places.take(client, 1)) throw new OverloadedError();
    const ends: (() => void)[] = [];
    let isTaken = true;
    return {
      expect: (hash) => this.#expect(hash, ends),
      [Symbol.dispose]: () => {
        if (!isTaken) return;
        isTaken = false;
        for (const end of ends) end();
        this.#places.give(client, 1);
      },
    };
  }

  #expect(hash: Hex, ends: (() => void)[]): ReceiptWait {
    let next = Promise.withResolvers<void>();
    const wake = (): void => {
      next.resolve();
      next = Promise.withResolvers();
    };
    const wakes = this.#waiting.get(hash) ?? new Set();
    this.#waiting.set(hash, wakes.add(wake));
    ends.push(() => {
      wakes.delete(wake);
      if (wakes.size === 0) this.#waiting.delete(hash);
    });
    return {
      read: async (timeoutMs, signal) => {
        const over = new AbortController();
        const timer = setTimeout(() => over.abort(), timeoutMs);
        const onAbort = (): void => over.abort();
        signal.addEventListener('abort', onAbort, { once: true });
        const ended = new Promise<void>((resolve) => {
          over.signal.addEventListener('abort', () => resolve(), { once: true });
        });
        try {
          for (;;) {
            const { promise: event } = next;
            const found = await this.#look(hash);
            // Seen, and taken back again before it was read: it may come again.
            if (found !== undefined || over.signal.aborted || signal.aborted) return found;
            await Promise.race([event, ended]);
          }
        } finally {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
        }
      },
    };
  }

  /** The nonce that the next transaction of an account has, by executed state; undefined where that is not known. */
  nonceOf(address: Hex, context: LoadContext): Promise<number | undefined> {
    return this.#head.read(async (snapshot) => {
      try {
        const view = await snapshot.viewAt({ kind: 'tag', tag: 'pending' });
        return Number(await view.transactionCount(address, context));
      } catch (error) {
        if (error instanceof StateUnavailableError || error instanceof HeadError) return undefined;
        throw error;
      }
    });
  }

  #seen(receipts: readonly Receipt[]): void {
    for (const { transactionHash } of receipts) {
      for (const wake of this.#waiting.get(toHex(transactionHash)) ?? []) wake();
    }
  }

  #look(hash: Hex): Promise<ReadReceipt | undefined> {
    return this.#head.read(async (snapshot) => {
      const json = await receiptOf(snapshot, hash);
      return json === undefined ? undefined : { json, snapshot };
    });
  }
}
