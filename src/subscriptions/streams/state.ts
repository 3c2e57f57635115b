import type { StateDiff } from '../../chain/diff.ts';
import type { Awaitable, Hex } from '../../primitives/hex.ts';
import { type CurrentState, DISCONTINUED, type ReadState, type Sink } from '../interface.ts';
import { SharedNotification } from '../notification.ts';
import type { StateRequest } from '../request.ts';
import type { LedgerStep } from './ledger.ts';
import { type AccountChange, changesIn, renderChange } from './state-change.ts';

export interface StateStreamsOptions {
  /** Events that may wait while state is read. */
  readonly maxWaitingEvents: number;
}

export interface StateStreamsModules {
  readonly readState: ReadState;
  readonly onFault: (error: unknown) => void;
}

interface StateStream {
  readonly id: Hex;
  readonly sink: Sink;
}

type Changes = ReadonlyMap<Hex, AccountChange>;

/** Reads in a row that may fail before the streams are given up. */
const MAX_FAILED_READS = 3;

/** Subscriptions to what changes of accounts. */
export class StateStreams {
  readonly #options: StateStreamsOptions;
  readonly #modules: StateStreamsModules;
  readonly #byAddress = new Map<Hex, Set<StateStream>>();
  /** What could not be read, since blocks below were being taken off: it is told with the next event. */
  #unread: Changes = new Map();
  #failedReads = 0;
  /** The work that events behind it wait for. */
  #work: Promise<void> | undefined;
  #waiting = 0;

  constructor(options: StateStreamsOptions, modules: StateStreamsModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Begins a subscription; what it gives back ends it. */
  open({ addresses }: StateRequest, id: Hex, sink: Sink): () => void {
    const stream: StateStream = { id, sink };
    for (const address of addresses) {
      const streams = this.#byAddress.get(address);
      if (streams === undefined) this.#byAddress.set(address, new Set([stream]));
      else streams.add(stream);
    }
    return () => {
      for (const address of addresses) {
        const streams = this.#byAddress.get(address);
        if (streams?.delete(stream) === true && streams.size === 0) this.#byAddress.delete(address);
      }
    };
  }

  /** Nothing that was told before can be taken back any more. */
  forget(): void {
    this.#unread = new Map();
    this.#failedReads = 0;
  }

  /** Tells of an event: first what holds now of that which does not stand any more, then what is new. */
  take({ dropped, risen, added, removed }: LedgerStep): void {
    if (this.#byAddress.size === 0) {
      this.forget();
      return;
    }
    const gone = [...dropped.map(({ outcome }) => outcome.diff), ...removed.map(({ diff }) => diff)].map(
      (diff) => this.#changes(diff),
    );
    // Which slots an account has got back with its storage is nothing that anybody here could name.
    for (const address of wipedIn(gone)) this.#discontinue(this.#byAddress.get(address));
    const come: Changes[] = [];
    for (const { block, wasPreconfirmed } of added) {
      if (!wasPreconfirmed) come.push(this.#changes(block.outcome.diff));
    }
    for (const { outcome } of risen) come.push(this.#changes(outcome.diff));
    if (this.#unread.size === 0 && [...gone, ...come].every(({ size }) => size === 0)) return;
    this.#enqueue(() => this.#tell(gone, come));
  }

  #changes(diff: StateDiff): Changes {
    return changesIn(diff, (address) => this.#byAddress.has(address));
  }

  #tell(gone: readonly Changes[], come: readonly Changes[]): Awaitable<void> {
    const touched = union([this.#unread, ...gone]);
    if (touched.size === 0) return this.#tellAll(come);
    return this.#modules
      .readState((state) => readAgain(state, touched))
      .then(
        (now) => {
          this.#unread = new Map();
          this.#failedReads = 0;
          this.#tellAll([now, ...come]);
        },
        (error: unknown) => {
          this.#failedReads++;
          if (this.#failedReads > MAX_FAILED_READS) throw error;
          this.#unread = touched;
          this.#tellAll(come);
        },
      );
  }

  #tellAll(all: readonly Changes[]): void {
    for (const changes of all) {
      for (const [address, change] of changes) {
        const streams = this.#byAddress.get(address);
        if (streams === undefined) continue;
        const message = new SharedNotification(renderChange(address, change));
        for (const { id, sink } of streams) sink.send(message.to(id));
      }
    }
  }

  /** Does work in the order it came, at once when nothing is before it. */
  #enqueue(work: () => Awaitable<void>): void {
    if (this.#waiting >= this.#options.maxWaitingEvents) {
      this.#discontinueAll();
      return;
    }
    try {
      const done = this.#work === undefined ? work() : this.#work.then(work);
      if (done instanceof Promise) this.#await(done);
    } catch (error) {
      this.#fail(error);
    }
  }

  #await(done: Promise<void>): void {
    this.#waiting++;
    const work = done
      .catch((error: unknown) => this.#fail(error))
      .then(() => {
        this.#waiting--;
        if (this.#work === work) this.#work = undefined;
      });
    this.#work = work;
  }

  #fail(error: unknown): void {
    this.#modules.onFault(error);
    this.#discontinueAll();
  }

  #discontinueAll(): void {
    this.forget();
    for (const streams of [...this.#byAddress.values()]) this.#discontinue(streams);
  }

  #discontinue(streams: ReadonlySet<StateStream> = new Set()): void {
    for (const sink of new Set([...streams].map((stream) => stream.sink))) sink.close(DISCONTINUED);
  }
}

/** Accounts whose storage had vanished, and has not any more. */
function wipedIn(all: readonly Changes[]): readonly Hex[] {
  return all.flatMap((changes) =>
    [...changes].filter(([, { isWiped }]) => isWiped).map(([address]) => address),
  );
}

/** What holds now of all that was touched. */
async function readAgain(state: CurrentState, touched: Changes): Promise<Changes> {
  const now = new Map<Hex, AccountChange>();
  for (const [address, { account, slots }] of touched) {
    const values = [...slots.keys()].map(
      async (slot) => [slot, await state.storageAt(address, slot)] as const,
    );
    // Together: a read that fails while another is waited for would end the thread.
    const [info, ...entries] = await Promise.all([
      account === undefined ? undefined : state.account(address),
      ...values,
    ]);
    now.set(address, { account: info, isWiped: false, slots: new Map(entries) });
  }
  return now;
}

/** Everything that any of them touched, each once. */
function union(all: readonly Changes[]): Changes {
  const touched = new Map<Hex, AccountChange>();
  for (const [key, change] of all.flatMap((changes) => [...changes])) {
    const known = touched.get(key);
    touched.set(key, {
      account: known?.account ?? change.account,
      isWiped: false,
      slots: new Map([...(known?.slots ?? []), ...change.slots]),
    });
  }
  return touched;
}
