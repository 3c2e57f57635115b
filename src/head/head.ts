import type { Executor } from '../executor/interface.ts';
import type { FeedEvent } from '../feed/interface.ts';
import type { Marks } from '../store/interface.ts';
import { ChainReader, type ChainReaderModules, type ChainReaderOptions } from './chain-reader.ts';
import { PreconfirmedChain } from './preconfirmed.ts';
import { Snapshot } from './snapshot.ts';

export interface HeadOptions extends ChainReaderOptions {
  /** The executor can find the state of blocks below the anchor, at an archive upstream. Default: it cannot. */
  readonly stateBelowAnchor?: boolean;
}

export interface HeadModules extends ChainReaderModules {
  readonly executor: ChainReaderModules['executor'] & Pick<Executor, 'preconfirmedView'>;
}

/** A point that a client has seen: a confirmed block, or with `index` one of its flashblocks. */
export interface Point {
  readonly number: number;
  readonly index?: number | undefined;
}

/** Somebody who waits for a point. */
interface Waiter {
  readonly point: Point;
  readonly end: (reached: boolean) => void;
}

/** Gives out the current snapshot, and swaps it when the store has moved. */
export class Head {
  readonly #store: ChainReaderModules['store'];
  readonly #reader: ChainReader;
  readonly #preconfirmed: PreconfirmedChain;
  readonly #stateBelowAnchor: boolean;
  readonly #waiters = new Set<Waiter>();
  #marks: Marks;
  /** Counts reorgs seen; a snapshot of an older count must not be served from any more. */
  #lineage = 0;
  #snapshot: Snapshot;
  /** The reading of the marks that is under way, and the one that will follow it. */
  #reading: Promise<void> | undefined;
  #nextReading: Promise<void> | undefined;

  private constructor(marks: Marks, options: HeadOptions, modules: HeadModules) {
    this.#store = modules.store;
    this.#reader = new ChainReader(options, modules);
    this.#preconfirmed = new PreconfirmedChain(modules.executor);
    this.#stateBelowAnchor = options.stateBelowAnchor ?? false;
    this.#marks = marks;
    this.#snapshot = this.#newSnapshot();
  }

  /** Opens the head of a store that holds at least one block. */
  static async open(options: HeadOptions, modules: HeadModules): Promise<Head> {
    const marks = await modules.store.marks();
    if (marks === undefined) throw new Error('the store holds no block yet: import or ingest a chain first');
    return new Head(marks, options, modules);
  }

  /** The newest snapshot; it never changes, take one per request. Who reads it for longer than a turn has to `hold` it. */
  snapshot(): Snapshot {
    return this.#snapshot;
  }

  /** Reads the newest snapshot for as long as it takes. */
  async read<T>(read: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    const snapshot = this.#snapshot;
    snapshot.hold();
    try {
      return await read(snapshot);
    } finally {
      snapshot.release();
    }
  }

  /**
   * Reads the store's marks again; whoever writes the store or hears of a write calls this. All that was written
   * before the call is seen when it resolves. Readings never overlap, so an older one cannot replace a newer.
   */
  refresh(): Promise<void> {
    if (this.#reading === undefined) return this.#startReading();
    const next = (): Promise<void> => {
      this.#nextReading = undefined;
      return this.#startReading();
    };
    this.#nextReading ??= this.#reading.then(next, next);
    return this.#nextReading;
  }

  /** Takes the next event of the feed; once it resolves, snapshots know of it. One event after the other. */
  async apply(event: FeedEvent): Promise<void> {
    switch (event.kind) {
      case 'preconfirmed':
      case 'dropped':
        this.#preconfirmed.apply(event);
        this.#swap();
        return undefined;
      case 'anchored':
        this.#preconfirmed.apply(event);
        this.#swap();
        return this.refresh();
      case 'confirmed':
        await this.refresh();
        this.#preconfirmed.settle(this.#marks.head.number);
        return undefined;
      case 'marked':
        return this.refresh();
    }
  }

  /**
   * Waits until a snapshot knows of a point: true once one does, false when the time is over or `signal` aborts. A
   * reorg may take it back again: whoever was waiting looks at the snapshot it then takes.
   */
  reached(point: Point, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    if (this.#snapshot.knows(point)) return Promise.resolve(true);
    if (timeoutMs <= 0 || signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (reached: boolean): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.#waiters.delete(waiter);
        resolve(reached);
      };
      const giveUp = (): void => end(false);
      const waiter: Waiter = { point, end };
      const timer = setTimeout(giveUp, timeoutMs);
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiters.add(waiter);
    });
  }

  #startReading(): Promise<void> {
    const reading = this.#read().finally(() => {
      this.#reading = undefined;
    });
    this.#reading = reading;
    return reading;
  }

  async #read(): Promise<void> {
    const marks = await this.#store.marks();
    if (marks === undefined || sameMarks(marks, this.#marks)) return;
    const previous = this.#marks.head;
    const extended =
      marks.head.number >= previous.number &&
      (await this.#store.canonicalHash(previous.number)) === previous.hash;
    if (!extended) this.#lineage++;
    this.#marks = marks;
    this.#swap();
  }

  #swap(): void {
    this.#snapshot = this.#newSnapshot();
    for (const waiter of this.#waiters) if (this.#snapshot.knows(waiter.point)) waiter.end(true);
  }

  #newSnapshot(): Snapshot {
    const lineage = this.#lineage;
    return new Snapshot(this.#marks, this.#reader, {
      stateBelowAnchor: this.#stateBelowAnchor,
      isStale: () => lineage !== this.#lineage,
      pending: this.#preconfirmed.on(this.#marks.head),
    });
  }
}

function sameMarks(a: Marks, b: Marks): boolean {
  return (
    a.head.hash === b.head.hash &&
    a.safe?.hash === b.safe?.hash &&
    a.finalized?.hash === b.finalized?.hash &&
    a.anchor.hash === b.anchor.hash &&
    a.lowest.hash === b.lowest.hash
  );
}
