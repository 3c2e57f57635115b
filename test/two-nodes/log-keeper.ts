import { Connection } from '../subscriptions/connection.ts';
import { HeldLogs, hashless, type SentLog } from '../subscriptions/held-logs.ts';
import { until } from '../support/servers/process.ts';
import { request } from '../support/servers/rpc-client.ts';

const settleMs = 20_000;
const zero = /^0x0+$/;

/** A client that holds what one subscription tells, and notes when each pre-confirmed log came. */
export class LogKeeper implements Disposable {
  readonly problems: string[] = [];
  /** By block and index. */
  readonly arrivals = new Map<string, number>();
  messages = 0;
  readonly #held = new HeldLogs();
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  static async start(url: string, kind: 'logs' | 'pendingLogs'): Promise<LogKeeper> {
    const keeper = new LogKeeper(await Connection.open(url));
    await keeper.#connection.subscribe([kind], (log) => keeper.#take(log as SentLog));
    return keeper;
  }

  /** Waits until it holds just the logs of the oracle from a block through another; what it holds else, if it does not. */
  async settle(oracleUrl: string, from: number, to: number): Promise<void> {
    const range = [from, to].map((number) => `0x${number.toString(16)}`);
    const logs = await request<readonly SentLog[]>(oracleUrl, 'eth_getLogs', [
      { fromBlock: range[0], toBlock: range[1] },
    ]);
    const wanted = logs.map(comparable).join('\n');
    const isSo = (): true | undefined =>
      this.#held.from(from).map(comparable).join('\n') === wanted ? true : undefined;
    await until('all logs', isSo, settleMs).catch(() => {
      this.problems.push(`it holds ${this.#held.from(from).length} logs that are not the ${logs.length}`);
    });
  }

  [Symbol.dispose](): void {
    this.#connection.destroy();
  }

  #take(log: SentLog): void {
    const now = performance.now();
    this.messages += 1;
    const problem = this.#held.take(log);
    if (problem !== undefined) this.problems.push(problem);
    if (!log.removed && zero.test(log.blockHash))
      this.arrivals.set(`${log.blockNumber}/${log.logIndex}`, now);
  }
}

/** What both sides write in another order of fields. */
const comparable = (log: SentLog): string =>
  JSON.stringify(
    Object.entries(JSON.parse(hashless(log)) as object).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
