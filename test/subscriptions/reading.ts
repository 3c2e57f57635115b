import { Asker, answersIn } from '../preconfirmed/scenarios/asking.ts';
import type { Random } from '../support/random.ts';
import type { Answer } from '../support/servers/rpc-client.ts';
import { hashless, placeOf, type SentLog } from './held-logs.ts';

/** A read made on receiving a message. */
interface ReadBack {
  readonly log: SentLog;
  /** A later message of the same subscription says the opposite. */
  isContradicted: boolean;
  /** What the read saw instead, once it is there. */
  seen: string | undefined;
}

export interface ReadTotals {
  made: number;
  /** Those of which a later message had to say that they were right all the same. */
  overtaken: number;
  /** Honest errors while blocks are taken back (B2). */
  unavailable: number;
  /** Nobody knows what would have been told: the client was cut off. */
  abandoned: number;
}

const connectionCount = 6;
const mostUnderWay = 8;
/** A number above the head is an error, also of a pre-confirmed block: so many may stand on it, or it may go back. */
const mostStacked = 8;
const resourceUnavailable = -32_002;
const hex = (value: number): string => `0x${value.toString(16)}`;

/** HTTP connections for reads on receiving messages, which may be of any serving thread. */
export class ReadPool implements Disposable {
  readonly totals: ReadTotals = { made: 0, overtaken: 0, unavailable: 0, abandoned: 0 };
  readonly #askers: readonly Asker[];

  constructor(urls: readonly string[]) {
    this.#askers = Array.from(
      { length: connectionCount },
      (_, at) => new Asker(urls[at % urls.length] as string),
    );
  }

  async logs(random: Random, filter: object): Promise<Answer | undefined> {
    const body = { jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [filter] };
    const said = await random.pick(this.#askers).ask(JSON.stringify([body]));
    return answersIn(said.body)[0];
  }

  [Symbol.dispose](): void {
    for (const asker of this.#askers) asker[Symbol.dispose]();
  }
}

export interface ReadBackModules {
  readonly pool: ReadPool;
  readonly random: Random;
  /** The lowest block that there is. */
  readonly lowest: number;
}

/**
 * Reads at once what some messages of a log subscription told. A read sees the message's state or a later one: where
 * it sees the opposite of the message, a later message must say so too.
 */
export class ReadBacks {
  readonly #pool: ReadPool;
  readonly #random: Random;
  readonly #toBlock: string;
  readonly #lowest: number;
  readonly #report: (problem: string) => void;
  readonly #open = new Set<ReadBack>();
  readonly #underWay = new Set<Promise<void>>();

  constructor({ pool, random, lowest }: ReadBackModules, toBlock: string, report: (problem: string) => void) {
    this.#pool = pool;
    this.#random = random;
    this.#lowest = lowest;
    this.#toBlock = toBlock;
    this.#report = report;
  }

  /** Every message is told here, in order. */
  take(log: SentLog): void {
    for (const open of this.#open) {
      const isSame = open.log.blockNumber === log.blockNumber && open.log.logIndex === log.logIndex;
      if (isSame && open.log.removed !== log.removed) open.isContradicted = true;
      if (open.isContradicted && open.seen !== undefined) this.#open.delete(open);
    }
  }

  /** Reads what a message just told. */
  begin(log: SentLog): void {
    if (this.#underWay.size >= mostUnderWay) return;
    const readBack: ReadBack = { log, isContradicted: false, seen: undefined };
    this.#open.add(readBack);
    const work = this.#read(readBack).finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
  }

  /** The connection is gone: what would have followed is not known. */
  abandon(): void {
    this.#pool.totals.abandoned += this.#open.size;
    this.#open.clear();
  }

  /** Reads that saw something else than their message said, and nothing has explained it yet. */
  get areOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Waits for reads under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** The client has been told everything: what is still open was wrong. */
  finish(): void {
    for (const { log, seen } of this.#open)
      this.#report(
        `a read on receiving a message is of an earlier state:\n${JSON.stringify(log)}\nit saw ${seen}`,
      );
    this.#open.clear();
  }

  async #read(readBack: ReadBack): Promise<void> {
    const { totals } = this.#pool;
    const { log } = readBack;
    const filter = {
      fromBlock: hex(Math.max(this.#lowest, placeOf(log).block - mostStacked)),
      toBlock: this.#toBlock,
      address: log.address,
    };
    totals.made += 1;
    const answer = await this.#pool.logs(this.#random, filter).catch((error: unknown) => {
      const message = String(error);
      return { error: { code: 0, message } };
    });
    if (!this.#open.has(readBack)) return;
    if (answer !== undefined && 'error' in answer && answer.error.code === resourceUnavailable) {
      totals.unavailable += 1;
      this.#open.delete(readBack);
      return;
    }
    if (answer === undefined || 'error' in answer) {
      this.#report(`a read on receiving a message failed: ${JSON.stringify(answer)}`);
      this.#open.delete(readBack);
      return;
    }
    const logs = answer.result as readonly SentLog[];
    const isThere = logs.some((other) => hashless(other) === hashless(log));
    if (isThere !== log.removed) {
      this.#open.delete(readBack);
      return;
    }
    totals.overtaken += 1;
    readBack.seen = JSON.stringify(answer).slice(0, 600);
    if (readBack.isContradicted) this.#open.delete(readBack);
  }
}
