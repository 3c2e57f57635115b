import { setImmediate } from 'node:timers/promises';
import type { BlockRef } from '../../chain/outcome.ts';
import { HeadError } from '../../head/errors.ts';
import type { Hex } from '../../primitives/hex.ts';
import { News } from '../../primitives/news.ts';
import { Pace } from '../../primitives/pace.ts';
import { createMatcher, type LogMatcher } from '../../store/match.ts';
import { DISCONTINUED, type History, type Sink } from '../interface.ts';
import { notification, pointMember } from '../notification.ts';
import type { LogPlace, LogRequest } from '../request.ts';
import { Turns } from '../turns.ts';
import { FilterIndex } from './filter-index.ts';
import type { Ledger, LedgerStep } from './ledger.ts';
import { type LogMessage, messagesOf } from './log-message.ts';
import type { LogChange } from './log-run.ts';

export interface LogStreamsOptions {
  /** Blocks of history read at a time. */
  readonly resumeBlocks: number;
  /** Subscriptions that read history at the same time; each holds a block of it. */
  readonly resumeReaders: number;
  /** How long a reader of history waits for the feed to tell of what the store has already. */
  readonly resumeWaitMs: number;
}

export interface LogStreamsModules {
  readonly ledger: Ledger;
  readonly history: History;
  readonly onFault: (error: unknown) => void;
}

/** A subscription to logs. It reads history first if it was asked to, then hears of each event. */
interface LogStream {
  readonly request: LogRequest;
  readonly id: Hex;
  readonly sink: Sink;
  readonly matches: LogMatcher;
  /** The position from which on it hears of events; undefined while it reads history. */
  liveSince: number | undefined;
  /** While it reads history: the client has been sent all logs below this place. */
  next: LogPlace;
  isClosed: boolean;
}

/** Subscriptions to `logs` and `pendingLogs`: at all times, a client holds what eth_getLogs would give it. */
export class LogStreams {
  readonly #options: LogStreamsOptions;
  readonly #modules: LogStreamsModules;
  readonly #live = { logs: new FilterIndex<LogStream>(), pendingLogs: new FilterIndex<LogStream>() };
  readonly #reading = new Set<LogStream>();
  readonly #turns: Turns;
  readonly #events = new News();

  constructor(options: LogStreamsOptions, modules: LogStreamsModules) {
    this.#options = options;
    this.#modules = modules;
    this.#turns = new Turns(options.resumeReaders);
  }

  /** Begins a subscription; what it gives back ends it. */
  open(request: LogRequest, id: Hex, sink: Sink): () => void {
    const stream: LogStream = {
      ...{ request, id, sink },
      matches: createMatcher(request.query),
      liveSince: undefined,
      next: request.from ?? { block: 0, index: 0 },
      isClosed: false,
    };
    if (request.from === undefined) this.#goLive(stream);
    else void this.#catchUp(stream);
    return () => this.#close(stream);
  }

  /** Tells of an event. */
  take({ confirmed, pending, removed }: LedgerStep): void {
    const lowest = removed.at(-1);
    if (lowest !== undefined) for (const stream of this.#reading) takeBack(stream, confirmed, lowest.number);
    this.#tell(this.#live.logs, confirmed);
    this.#tell(this.#live.pendingLogs, pending);
    this.#events.tell();
  }

  #tell(index: FilterIndex<LogStream>, change: LogChange): void {
    if (index.size === 0) return;
    for (const message of messagesOf(change)) {
      for (const stream of index.candidates(message.log)) {
        if (isFor(stream, message)) this.#send(stream, message, stream.liveSince ?? 0);
      }
    }
  }

  #close(stream: LogStream): void {
    if (stream.isClosed) return;
    stream.isClosed = true;
    this.#reading.delete(stream);
    const { kind, query } = stream.request;
    if (stream.liveSince !== undefined) this.#live[kind].delete(query, stream);
  }

  #goLive(stream: LogStream): void {
    const { ledger } = this.#modules;
    const { kind, query, from } = stream.request;
    stream.liveSince = ledger.position;
    this.#reading.delete(stream);
    this.#live[kind].add(query, stream);
    if (kind === 'logs' || from === undefined) return;
    for (const message of messagesOf({ removed: [], added: ledger.standingLogs() })) {
      if (isFor(stream, message)) this.#send(stream, message, stream.liveSince);
    }
  }

  #send({ request, id, sink }: LogStream, message: LogMessage, liveSince: number): void {
    if (request.points !== true) sink.send(message.message(id, liveSince));
    else sink.send(notification(id, message.json(liveSince), pointMember(this.#modules.ledger.point)));
  }

  /** Sends history up to the block that subscribers were told of last, then goes live in the same instant. */
  async #catchUp(stream: LogStream): Promise<void> {
    const { ledger, onFault } = this.#modules;
    this.#reading.add(stream);
    try {
      while (!stream.isClosed) {
        const { tip, lineage } = ledger;
        if (tip === undefined) return stream.sink.close(DISCONTINUED);
        if (stream.next.block > tip.number) return this.#goLive(stream);
        // Waited for without a turn and without a block in hand: the client may never read.
        await stream.sink.drained();
        const isRead = await this.#turns.take(() => this.#read(stream, tip, lineage));
        // The store has left the chain that subscribers know: the feed is about to say so.
        if (!isRead && ledger.lineage === lineage && !(await this.#moves())) {
          return stream.sink.close(DISCONTINUED);
        }
      }
    } catch (error) {
      if (!(error instanceof HeadError)) onFault(error);
      stream.sink.close(DISCONTINUED);
    } finally {
      this.#reading.delete(stream);
    }
  }

  /**
   * Sends the next blocks of history on the way to `tip`, until the client has enough to read for now; false when they
   * may not be of its chain.
   */
  async #read(stream: LogStream, tip: BlockRef, lineage: number): Promise<boolean> {
    const { ledger, history } = this.#modules;
    const { id, sink, request } = stream;
    const to = Math.min(stream.next.block + this.#options.resumeBlocks - 1, tip.number);
    const isCurrent = (): boolean => !stream.isClosed && ledger.lineage === lineage;
    // Others must have theirs between two turns; and one of this client's may have filled it meanwhile.
    await setImmediate();
    if (sink.isFull || !isCurrent()) return isCurrent();
    // Also while nothing matches: what nobody waits for is not read on.
    const checkpoint = (): void => {
      if (!isCurrent()) throw new HeadError({ code: 'REORGANISED' });
    };
    const pace = new Pace();
    try {
      for await (const { block, indexes } of history.logs(request.query, stream.next.block, to, checkpoint)) {
        if (!(await history.isCanonical(tip)) || !isCurrent()) return false;
        const { number } = block.logs;
        for (const index of indexes) {
          if (isBefore(number, index, stream.next)) continue;
          sink.send(
            notification(id, block.log(index), request.points === true ? pointMember(`${number}`) : ''),
          );
          stream.next = { block: number, index: index + 1 };
          if (sink.isFull) return true;
          if (!pace.spend(1)) continue;
          await pace.rest();
          // What a reorg took back meanwhile, the client has been told of; one that filled it may be another of its own.
          if (!isCurrent()) return false;
          if (sink.isFull) return true;
        }
      }
      if (!(await history.isCanonical(tip)) || !isCurrent()) return false;
    } catch (error) {
      if (error instanceof HeadError && error.type.code === 'REORGANISED') return false;
      throw error;
    }
    stream.next = { block: to + 1, index: 0 };
    return true;
  }

  /** Whether the feed goes on within the time. */
  #moves(): Promise<boolean> {
    return this.#events.after(this.#events.count, this.#options.resumeWaitMs);
  }
}

/** Takes back what was sent of blocks that are gone, and reads on from where they were. */
function takeBack(stream: LogStream, change: LogChange, lowest: number): void {
  const { next, id, sink } = stream;
  const { from = next } = stream.request;
  if (next.block < lowest) return;
  for (const message of messagesOf({ ...change, added: [] })) {
    const { number, index, log } = message;
    const isHeld = isBefore(number, index, next) && !isBefore(number, index, from);
    if (isHeld && stream.matches(log)) sink.send(message.message(id, Number.POSITIVE_INFINITY));
  }
  stream.next = isBefore(lowest, 0, from) ? from : { block: lowest, index: 0 };
}

/** Whether a live subscription is told: of what it asked for and, when that is taken back, has been told of. */
function isFor({ request, liveSince, matches }: LogStream, message: LogMessage): boolean {
  const { number, index, removed, since, log } = message;
  if (request.from !== undefined) return !isBefore(number, index, request.from) && matches(log);
  return (!removed || since > (liveSince ?? 0)) && matches(log);
}

function isBefore(block: number, index: number, place: LogPlace): boolean {
  return block < place.block || (block === place.block && index < place.index);
}
