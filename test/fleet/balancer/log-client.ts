import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from '../../subscriptions/connection.ts';
import { HeldLogs, type SentLog } from '../../subscriptions/held-logs.ts';

const RETRY_MS = 50;

const hex = (value: number): string => `0x${value.toString(16)}`;

interface ResumingOptions {
  readonly filter?: object;
  /** The first block wanted. */
  readonly from: number;
  /** Where the next connection goes. */
  readonly where: () => string;
  /** Nothing is ever taken back, so that it forgets nothing: its cursor is the last log that it was told. */
  readonly keepsAll?: boolean;
}

/**
 * A client of logs that comes back whenever it is cut off, wherever it is told to, by the rule of docs/subscriptions.md: it forgets what is
 * not final, and resumes after the newest log that is left.
 */
export class ResumingLogs {
  readonly kind: 'logs' | 'pendingLogs';
  readonly held = new HeldLogs();
  /** What came twice, out of order, or was taken back though it was not the newest. */
  readonly problems: string[] = [];
  /** Where it was, one entry a connection; resumes right after a log that it held. */
  readonly places: string[] = [];
  resumedAfterLog = 0;
  /** Attempts to come back that came to nothing. */
  refused = 0;
  messages = 0;
  /** How each connection ended. */
  readonly closes: number[] = [];
  readonly #options: ResumingOptions;
  readonly #stop = new AbortController();
  #connection: Connection | undefined;
  #final = -1;
  #following: Promise<void> = Promise.resolve();

  constructor(kind: ResumingLogs['kind'], options: ResumingOptions) {
    this.kind = kind;
    this.#options = options;
  }

  /** Subscribes for the first time; from then on it stays by itself. */
  async begin(): Promise<void> {
    const connection = await this.#connect();
    this.#following = this.#follow(connection);
  }

  /** Hangs up; it comes back by itself. */
  cut(): void {
    this.#connection?.destroy();
  }

  async end(): Promise<void> {
    this.#stop.abort();
    this.cut();
    await this.#following;
  }

  async #follow(first: Connection): Promise<void> {
    let connection: Connection | undefined = first;
    while (connection !== undefined) {
      this.closes.push(await connection.closed);
      if (this.#stop.signal.aborted) return;
      this.#forget();
      connection = await this.#again();
    }
  }

  /** Tries until some replica takes it. */
  async #again(): Promise<Connection | undefined> {
    while (!this.#stop.signal.aborted) {
      try {
        return await this.#connect();
      } catch {
        // The replica is just going, or gone: the next one is asked.
        this.refused += 1;
        await pause(RETRY_MS);
      }
    }
    return undefined;
  }

  async #connect(): Promise<Connection> {
    const { filter, from, where } = this.#options;
    const url = where();
    const connection = await Connection.open(url);
    this.#connection = connection;
    try {
      const final = await connection.ask<{ number: string } | null>('eth_getHeaderByNumber', ['finalized']);
      const { newest } = this.held;
      const place =
        newest === undefined
          ? { fromBlock: hex(from) }
          : { fromBlock: hex(newest.block), fromLogIndex: hex(newest.index + 1) };
      this.#final = final === null ? -1 : Number(final.number);
      await connection.subscribe([this.kind, { ...filter, ...place }], (log) =>
        this.#take(connection, log as SentLog),
      );
      this.places.push(url);
      if (newest !== undefined) this.resumedAfterLog += 1;
      return connection;
    } catch (error) {
      connection.destroy();
      this.#forget();
      throw error;
    }
  }

  #forget(): void {
    if (this.#options.keepsAll !== true) this.held.forgetAbove(this.#final);
  }

  #take(connection: Connection, log: SentLog): void {
    if (connection !== this.#connection) return;
    this.messages += 1;
    const problem = this.held.take(log);
    if (problem !== undefined) this.problems.push(problem);
  }
}
