import { type Address, createPublicClient, type Log, type LogTopic, numberToHex } from 'viem';
import { chainQueryHttp, type LogEvent, watchChainLogs } from '../../packages/client/src/index.ts';
import { startTcpProxy, type TcpProxy } from '../support/proxies/tcp-proxy.ts';
import { HeldLogs, type SentLog } from './held-logs.ts';
import type { LogClientModules, LogClientOptions, LogClientTotals, LogWatcher } from './log-client.ts';
import { ReadBacks } from './reading.ts';
import { settled } from './settling.ts';

const readShare = 0.05;
/** Messages so close to each other are of one burst. */
const burstMs = 2;
const problemsKept = 5;

/** A client that only does what `packages/client` tells it: it adds logs, and deletes what is retracted. */
export class PackageClient implements LogWatcher {
  readonly options: LogClientOptions;
  readonly held = new HeldLogs();
  readonly problems: string[] = [];
  readonly #modules: LogClientModules;
  readonly #readBacks: ReadBacks;
  readonly #totals: LogClientTotals;
  /** Not while the node is away. */
  #isReading = true;
  #proxy: TcpProxy | undefined;
  #end: () => void = () => undefined;
  #lastAt = 0;

  constructor(options: LogClientOptions, modules: LogClientModules, totals: LogClientTotals) {
    this.options = options;
    this.#modules = modules;
    this.#totals = totals;
    const { reads: pool, random, lowest } = modules;
    const toBlock = options.kind === 'logs' ? 'latest' : 'pending';
    this.#readBacks = new ReadBacks({ pool, random, lowest }, toBlock, (problem) => this.#report(problem));
  }

  async begin(): Promise<void> {
    const { url, kind, filter, from } = this.options;
    this.#proxy = await startTcpProxy(url);
    const client = createPublicClient({ transport: chainQueryHttp(url) });
    this.#end = watchChainLogs(client, {
      ...(filter as { address?: Address[]; topics?: LogTopic[] }),
      ...{ kind, webSocketUrl: this.#proxy.url.replace(/^http/, 'ws') },
      fromBlock: from === undefined ? undefined : BigInt(from),
      onEvent: (event) => this.#take(event),
      onError: () => {
        this.#totals.resumes += 1;
        if (this.held.size > 0) this.#totals.resumesInside += 1;
        this.#readBacks.abandon();
      },
    });
  }

  /** Whether it reads on receiving a message; if not, reads under way mean nothing any more. */
  set isReading(isReading: boolean) {
    this.#isReading = isReading;
    if (!isReading) this.#readBacks.abandon();
  }

  cut(): void {
    if ((this.#proxy?.cut() ?? 0) === 0) return;
    this.#totals.disconnects += 1;
    this.#readBacks.abandon();
  }

  settle(expected: () => Promise<readonly SentLog[]>, deadlineMs: number): Promise<void> {
    const { options, held } = this;
    const report = (problem: string): void => this.#report(problem);
    return settled({ options, held, readBacks: this.#readBacks, report }, expected, deadlineMs);
  }

  async end(): Promise<void> {
    this.#end();
    await this.#proxy?.[Symbol.asyncDispose]();
    await this.#readBacks.settled();
  }

  #take({ type, log: told }: LogEvent): void {
    const log = asSent(told, type === 'retracted');
    this.#totals.messages += 1;
    this.#totals.removed += log.removed ? 1 : 0;
    this.#report(this.held.take(log));
    this.#readBacks.take(log);
    const now = performance.now();
    const isBurst = now - this.#lastAt < burstMs;
    this.#lastAt = now;
    const { random } = this.#modules;
    if (random.chance(readShare) && this.#isReading) this.#readBacks.begin(log);
    if (this.options.breaks === 0 || !random.chance(this.options.breaks)) return;
    this.#totals.burstCuts += isBurst ? 1 : 0;
    this.cut();
  }

  #report(problem: string | undefined): void {
    if (problem !== undefined && this.problems.length < problemsKept) this.problems.push(problem);
  }
}

/** As it came from the node: viem keeps the order of its fields. */
function asSent(log: Log, removed: boolean): SentLog {
  const fields = Object.entries(log).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'bigint' || typeof value === 'number' ? numberToHex(value) : value,
  ]);
  return { ...(Object.fromEntries(fields) as SentLog), removed };
}
