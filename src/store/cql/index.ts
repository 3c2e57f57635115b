import { hostname } from 'node:os';
import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { AppendOptions, Marks, Pin, Store } from '../interface.ts';
import { catchUp } from './catch-up.ts';
import { CQL_DEFAULTS, type CqlStoreOptions } from './options.ts';
import { CqlReader } from './reader.ts';
import { RootRow } from './root.ts';
import { createTables } from './schema.ts';
import { Session, type StoreRequests } from './session.ts';
import { steadyMs, View } from './view.ts';
import { CqlChanges } from './write/changes.ts';
import { waitForLease } from './write/lease.ts';

/** How a writer of a store in CQL comes to be one. */
export interface CqlWriterModules {
  /** Hears why the index does not go on, and that another has taken over. */
  readonly onFailure: (error: unknown) => void;
  /** Waits until nobody else writes, or this aborts. Without it, whoever writes is replaced at once. */
  readonly wait?: AbortSignal;
  /** How long it waits at most. */
  readonly patienceMs?: number;
  /** Told when there is another to wait for. */
  readonly onWait?: () => void;
}

/** Opens a store in CQL for its one writer: whoever wrote before can make nothing visible from now on. */
export async function openCqlStore(options: CqlStoreOptions, modules: CqlWriterModules): Promise<CqlStore> {
  const session = await Session.connect(options);
  try {
    await createTables(session);
    const { chain, holder = hostname(), leaseMs = CQL_DEFAULTS.leaseMs } = options;
    const { wait, patienceMs, onWait } = modules;
    const row = await (wait === undefined
      ? RootRow.take(session, chain, holder)
      : waitForLease(session, { chain, holder, leaseMs, patienceMs, onWait }, wait));
    // A writer that hears nothing of the servers for longer may have been replaced, and rows may be gone.
    const view = new View(options.viewMs ?? CQL_DEFAULTS.viewMs);
    if (row.root !== undefined) await catchUp(session, view, row.root);
    view.confirm(steadyMs());
    const reader = new CqlReader(session, chain, view);
    const { onFailure } = modules;
    const changes = new CqlChanges(options, { session, row, view, reader, onFailure });
    return new CqlStore(session, chain, view, changes, row.epoch);
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** A store in CQL: it reads by itself, and has its changes made in turn. */
export class CqlStore extends CqlReader implements Store {
  readonly #session: Session;
  readonly #changes: CqlChanges;
  /** Of the right to write: higher than that of any writer before. */
  readonly epoch: bigint;

  constructor(session: Session, chain: string, view: View, changes: CqlChanges, epoch: bigint) {
    super(session, chain, view);
    this.#session = session;
    this.#changes = changes;
    this.epoch = epoch;
  }

  /** How often servers were asked. */
  get requests(): Readonly<StoreRequests> {
    return this.#session.counts;
  }

  /** For how long blocks waited because too much was left to the index. */
  get heldBackMs(): number {
    return this.#changes.heldBackMs;
  }

  setMeta(name: string, value: string): Promise<void> {
    return this.#changes.setMeta(name, value);
  }

  append(outcomes: readonly Outcome[], options?: AppendOptions): Promise<void> {
    return this.#changes.append(outcomes, options);
  }

  prepend(outcomes: readonly Outcome[]): Promise<void> {
    return this.#changes.prepend(outcomes);
  }

  pin(anchor: BlockRef, pins: readonly Pin[]): Promise<void> {
    return this.#changes.pin(anchor, pins);
  }

  revertTo(number: number): Promise<void> {
    return this.#changes.revertTo(number);
  }

  prune(below: number, limit: number): Promise<boolean> {
    return this.#changes.prune(below, limit);
  }

  indexTransactions(): Promise<boolean> {
    return this.#changes.indexTransactions();
  }

  mark(marks: Partial<Pick<Marks, 'safe' | 'finalized'>>): Promise<void> {
    return this.#changes.mark(marks);
  }

  /** Resolves once everything is indexed that can be. */
  indexed(): Promise<void> {
    return this.#changes.indexed();
  }

  async close(): Promise<void> {
    await this.#changes.close();
    await this.#session.close();
  }
}
