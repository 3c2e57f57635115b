import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../support/random.ts';
import { Connection } from './connection.ts';
import { HeldLogs, type SentLog } from './held-logs.ts';
import { ReadBacks, type ReadPool } from './reading.ts';
import { settled } from './settling.ts';

export interface LogClientOptions {
  readonly name: string;
  readonly url: string;
  readonly kind: 'logs' | 'pendingLogs';
  /** Address and topics. */
  readonly filter: object;
  /** The first block wanted; without it, what comes from now on. */
  readonly from: number | undefined;
  /** From this block on it holds all. */
  readonly complete: number;
  /** In which share of its messages it is cut off, and resumes. */
  readonly breaks: number;
}

export interface LogClientModules {
  readonly reads: ReadPool;
  readonly random: Random;
  /** The lowest block that our node has. */
  readonly lowest: number;
}

/** Of all clients of a test. */
export interface LogClientTotals {
  messages: number;
  removed: number;
  disconnects: number;
  resumes: number;
  /** Resumes in the middle of a block. */
  resumesInside: number;
  /** Of these, so many came while logs were still pouring in. */
  burstCuts: number;
}

/** A client of logs, however it is made. */
export interface LogWatcher {
  readonly options: LogClientOptions;
  readonly held: HeldLogs;
  /** What was wrong, not yet told. */
  readonly problems: string[];
  begin(): Promise<void>;
  /** Is cut off, and comes back by itself. */
  cut(): void;
  /** Comes back if it is away, and waits until it holds just what it should and no read is open. */
  settle(expected: () => Promise<readonly SentLog[]>, deadlineMs: number): Promise<void>;
  end(): Promise<void>;
}

const readShare = 0.05;
const refinalShare = 0.02;
const awayMs = 300;
/** Messages so close to each other are of one burst. */
const burstMs = 2;
const problemsKept = 5;
const nobody = '0x00000000000000000000000000000000000000c1';
/** Returns the number of the block that it is called in. */
const numberCode = '0x4360005260206000f3';
const hex = (value: number): string => `0x${value.toString(16)}`;

/**
 * A client that holds logs, and is cut off now and then. Its rule for coming back: before it subscribes it asks for the
 * final block; when it is cut off it forgets all logs above that, and resumes after the newest that is left. A later
 * answer counts as soon as a log of a higher block has come after it: all up to there was told, for good.
 */
export class LogClient implements LogWatcher {
  readonly options: LogClientOptions;
  readonly held = new HeldLogs();
  readonly problems: string[] = [];
  readonly #random: Random;
  readonly #readBacks: ReadBacks;
  readonly #totals: LogClientTotals;
  #connection: Connection | undefined;
  #resuming: Promise<void> = Promise.resolve();
  /** All held up to this block is final. */
  #final = -1;
  /** Will be so too, once a log of a higher block comes. */
  #nextFinal: number | undefined;
  #lastAt = 0;
  #isSubscribed = false;
  #hasEnded = false;

  constructor(
    options: LogClientOptions,
    { reads, random, lowest }: LogClientModules,
    totals: LogClientTotals,
  ) {
    this.options = options;
    this.#random = random;
    this.#totals = totals;
    const toBlock = options.kind === 'logs' ? 'latest' : 'pending';
    this.#readBacks = new ReadBacks({ pool: reads, random, lowest }, toBlock, (problem) =>
      this.#report(problem),
    );
  }

  /** Connects and subscribes. */
  async begin(): Promise<void> {
    const { url, kind, filter, from } = this.options;
    const connection = await Connection.open(url);
    this.#connection = connection;
    void connection.closed.then((code) => {
      if (this.#connection === connection && !this.#hasEnded) this.#report(`closed with ${code}`);
    });
    this.#final = await finalOf(connection);
    this.#nextFinal = undefined;
    const { newest } = this.held;
    const place =
      newest === undefined
        ? { fromBlock: from === undefined ? undefined : hex(from) }
        : { fromBlock: hex(newest.block), fromLogIndex: hex(newest.index + 1) };
    await connection.subscribe([kind, { ...filter, ...place }], (log) =>
      this.#take(connection, log as SentLog),
    );
    // It may be gone again by its first message.
    this.#isSubscribed = this.#connection === connection;
  }

  /** Is cut off, and comes back in a while. */
  cut(): void {
    const connection = this.#connection;
    if (connection === undefined || !this.#isSubscribed || this.#hasEnded) return;
    this.#connection = undefined;
    this.#isSubscribed = false;
    this.#report(strays(connection));
    connection.destroy();
    this.#readBacks.abandon();
    this.held.forgetAbove(this.#final);
    this.#totals.disconnects += 1;
    this.#resuming = this.#resume();
  }

  /** Comes back if it is away, and waits until it holds just what it should and no read is open. */
  async settle(expected: () => Promise<readonly SentLog[]>, deadlineMs: number): Promise<void> {
    await this.#resuming;
    const { options, held } = this;
    const report = (problem: string): void => this.#report(problem);
    await settled({ options, held, readBacks: this.#readBacks, report }, expected, deadlineMs);
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#resuming;
    this.#report(strays(this.#connection));
    this.#connection?.destroy();
    await this.#readBacks.settled();
  }

  async #resume(): Promise<void> {
    try {
      await pause(this.#random.below(awayMs));
      await this.begin();
      this.#totals.resumes += 1;
      if (this.held.size > 0) this.#totals.resumesInside += 1;
    } catch (error) {
      this.#report(`it cannot come back: ${String(error)}`);
    }
  }

  #take(connection: Connection, log: SentLog): void {
    // What was read off the socket together with the last message before the cut.
    if (connection !== this.#connection) return;
    this.#isSubscribed = true;
    this.#totals.messages += 1;
    this.#totals.removed += log.removed ? 1 : 0;
    this.#report(this.held.take(log));
    this.#readBacks.take(log);
    const block = Number(log.blockNumber);
    if (this.#nextFinal !== undefined && !log.removed && block > this.#nextFinal) {
      this.#final = Math.max(this.#final, this.#nextFinal);
      this.#nextFinal = undefined;
    }
    const now = performance.now();
    const isBurst = now - this.#lastAt < burstMs;
    this.#lastAt = now;
    if (this.#random.chance(readShare)) this.#readBacks.begin(log);
    if (this.#random.chance(refinalShare)) this.#askFinal(connection);
    if (this.options.breaks > 0 && this.#random.chance(this.options.breaks)) {
      this.#totals.burstCuts += isBurst ? 1 : 0;
      this.cut();
    }
  }

  #askFinal(connection: Connection): void {
    finalOf(connection).then(
      (number) => {
        if (connection === this.#connection) this.#nextFinal ??= number;
      },
      (error: unknown) => {
        if (connection === this.#connection) this.#report(`no final block: ${String(error)}`);
      },
    );
  }

  #report(problem: string | undefined): void {
    if (problem !== undefined && this.problems.length < problemsKept) this.problems.push(problem);
  }
}

/** The number of the final block, as any client can ask for it. */
async function finalOf(connection: Connection): Promise<number> {
  const overrides = { [nobody]: { code: numberCode } };
  return Number(await connection.ask('eth_call', [{ to: nobody }, 'finalized', overrides]));
}

function strays(connection: Connection | undefined): string | undefined {
  return connection !== undefined && connection.strays > 0
    ? `${connection.strays} messages came before their subscription's id`
    : undefined;
}
