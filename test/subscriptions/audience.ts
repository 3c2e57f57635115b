import { encodeEventTopics, type Hex } from 'viem';
import type { Checks } from '../support/checks.ts';
import { Random } from '../support/random.ts';
import { until } from '../support/servers/process.ts';
import { request } from '../support/servers/rpc-client.ts';
import { workloadContracts } from '../support/workload/contracts.ts';
import { HeadClient, StateClient } from './chain-clients.ts';
import type { SentLog } from './held-logs.ts';
import { LogClient, type LogClientOptions, type LogClientTotals, type LogWatcher } from './log-client.ts';
import { ReadPool } from './reading.ts';
import type { Show } from './show.ts';
import { SlowClient } from './slow-client.ts';

export const settleMs = 20_000;
const breaks = 1 / 250;
/** How many of them come late, one after the other. */
const lateCount = 4;
const hex = (value: number): Hex => `0x${value.toString(16)}`;

/** All clients of the test. */
export class Audience implements AsyncDisposable {
  readonly #show: Show;
  readonly #seed: number;
  readonly #checks: Checks;
  readonly #reads: ReadPool;
  readonly #logs: LogClient[] = [];
  readonly #heads: HeadClient;
  readonly #states: StateClient;
  /** Another one from each quiet point to the next: what it was not told of, but has read, may be taken off as well. */
  #lateStates: StateClient | undefined;
  /** The first block whose head everybody has been told of. */
  readonly #since: number;
  readonly #totals: LogClientTotals = {
    ...{ messages: 0, removed: 0, disconnects: 0, resumes: 0, resumesInside: 0, burstCuts: 0 },
  };
  readonly #late: LogClientOptions[];
  #slow: SlowClient | undefined;
  #slowClosed = 0;
  #slowMessages = 0;
  #compared = 0;
  #pauses = 0;

  private constructor(
    modules: { show: Show; seed: number; checks: Checks; reads: ReadPool },
    chain: { heads: HeadClient; states: StateClient; slow: SlowClient; since: number },
  ) {
    this.#show = modules.show;
    this.#seed = modules.seed;
    this.#checks = modules.checks;
    this.#reads = modules.reads;
    this.#heads = chain.heads;
    this.#states = chain.states;
    this.#slow = chain.slow;
    this.#since = chain.since;
    this.#late = lateClients(modules.show);
  }

  /** Nothing may happen meanwhile. */
  static async start(show: Show, seed: number, checks: Checks): Promise<Audience> {
    const { node, rig } = show;
    const moment = await show.moment();
    const { workload } = rig;
    const watched = [...workload.senders.slice(0, 5), ...workload.authorities.slice(0, 2)].map(
      ({ address }) => address,
    );
    const contracts = (['Workshop', 'Counter', 'Proxy'] as const).map((name) => workload.addressOf(name));
    const heads = await HeadClient.start(node.publicUrl);
    const states = await StateClient.start(node.url, rig.oracle.url, [...watched, ...contracts], moment);
    const slow = await SlowClient.start(node);
    const reads = new ReadPool([node.url, node.publicUrl]);
    const since = moment.head.number + 1;
    const audience = new Audience({ show, seed, checks, reads }, { heads, states, slow, since });
    // A live one is told of what comes from now on: of the block under way, it has missed the beginning.
    for (const options of earlyClients(show, since + 1)) await audience.#join(options);
    return audience;
  }

  /** Cuts some off at a random moment. */
  disturb(random: Random, share: number): void {
    for (const client of this.#logs) if (client.options.breaks > 0 && random.chance(share)) client.cut();
  }

  /** Looks after the slow one, between two runs. */
  async tend(): Promise<void> {
    if (this.#slow === undefined || !(await this.#slow.isGivenUp())) return;
    const { problems, messages } = await this.#slow.judge();
    this.#slow.end();
    this.#slow = undefined;
    this.#slowClosed += 1;
    this.#slowMessages += messages;
    this.#checks.check(
      'a slow client is told all until it is closed with 4008',
      problems.length === 0,
      problems,
    );
  }

  /** Waits until everybody has been told everything, and compares. Nothing may happen meanwhile. */
  async settle(when: string): Promise<void> {
    this.#pauses += 1;
    const settling = this.#logs.map((client) =>
      client.settle(() => ourLogs(this.#show, client.options), settleMs),
    );
    await Promise.all(settling);
    for (const { options, problems, held } of this.#logs) {
      this.#check(`${when}: ${options.name} holds what eth_getLogs gives`, problems.splice(0));
      this.#compared += held.size;
    }
    const { head } = await this.#show.moment();
    const chain = this.#show.chain(head, this.#since).join();
    const isTold = (): true | undefined =>
      this.#heads.chain(this.#since).join() === chain ? true : undefined;
    await until('all heads', isTold, settleMs).catch((error: unknown) =>
      this.#heads.problems.push(String(error)),
    );
    this.#check(`${when}: newHeads gives the chain`, this.#heads.problems.splice(0));
    await this.#compareStates(`${when}: stateChanges gives the state`, this.#states);
    if (this.#lateStates !== undefined) {
      await this.#compareStates(`${when}: stateChanges gives it to who came late`, this.#lateStates);
      this.#lateStates.connection.destroy();
    }
    this.#lateStates = await this.#states.another(await this.#show.moment());
    const next = this.#late.shift();
    if (next !== undefined) await this.#join(next);
    // Another one, until the end.
    this.#slow ??= await SlowClient.start(this.#show.node);
  }

  async #compareStates(what: string, client: StateClient): Promise<void> {
    let differences: readonly string[] = [];
    const isSame = async (): Promise<true | undefined> => {
      differences = await client.differences(await this.#show.moment());
      return differences.length === 0 ? true : undefined;
    };
    await until('the state', isSame, settleMs).catch(() => undefined);
    this.#check(what, differences);
  }

  /** What clients hold against the chain as op-geth has it. */
  compareWithUpstream(): Promise<void> {
    return compareWithUpstream(this.#show, this.#logs, (what, problems) => this.#check(what, problems));
  }

  /** That it was a test at all. */
  conclude(blocks: number): void {
    const { removed, resumes, resumesInside, burstCuts } = this.#totals;
    const { made } = this.#reads.totals;
    const enough =
      removed > blocks && resumes > blocks / 20 && resumesInside > 0 && burstCuts > 0 && made > blocks;
    this.#checks.check('much was taken back, resumed and read', enough, this.figures());
    this.#checks.check('a slow client was closed', this.#slowClosed > 0);
    const { unavailable } = this.#reads.totals;
    this.#checks.check('reads are answered', unavailable * 20 <= made, `${unavailable} of ${made} are not`);
  }

  figures(): string {
    const { messages, removed, disconnects, resumes, resumesInside, burstCuts } = this.#totals;
    return (
      `${this.#logs.length} clients with logs: ${messages} messages (${removed} removed), ${disconnects} disconnects ` +
      `(${burstCuts} amid a burst), ${resumes} resumes (${resumesInside} after logs they held); ${this.#pauses} quiet points with ` +
      `${this.#compared} logs compared; ${this.#heads.headers.length} heads; ${this.#states.messages} state changes, ` +
      `${this.#states.slots} slots; ${this.#slowClosed} slow clients closed after ${this.#slowMessages} messages`
    );
  }

  readFigures(): string {
    const { made, overtaken, unavailable, abandoned } = this.#reads.totals;
    return (
      `reads on receiving a message: ${made}, of a later state that said otherwise ${overtaken}, not available ` +
      `${unavailable}, of clients cut off meanwhile ${abandoned}`
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#logs.map((client) => client.end()));
    this.#heads.connection.destroy();
    this.#states.connection.destroy();
    this.#lateStates?.connection.destroy();
    this.#slow?.end();
    this.#reads[Symbol.dispose]();
  }

  async #join(options: LogClientOptions): Promise<void> {
    const random = new Random(this.#seed ^ 0x4cf5ad43, this.#logs.length);
    const client = new LogClient(
      options,
      { reads: this.#reads, random, lowest: this.#show.lowest },
      this.#totals,
    );
    await client.begin();
    this.#logs.push(client);
  }

  #check(what: string, problems: readonly string[]): void {
    this.#checks.check(what, problems.length === 0, problems.join('\n    '));
  }
}

/** What our node has for a client. */
export function ourLogs(
  { node }: Show,
  { kind, filter, complete }: LogClientOptions,
): Promise<readonly SentLog[]> {
  const toBlock = kind === 'logs' ? 'latest' : 'pending';
  const range = { fromBlock: hex(complete), toBlock };
  return request(node.url, 'eth_getLogs', [{ ...filter, ...range }]);
}

/** What clients hold against the chain as op-geth has it. */
export async function compareWithUpstream(
  show: Show,
  clients: readonly Pick<LogWatcher, 'options' | 'held'>[],
  check: (what: string, problems: readonly string[]) => void,
): Promise<void> {
  const { head, stack } = await show.moment();
  for (const { options, held } of clients) {
    const { kind, filter, complete } = options;
    const hashes = show.chain(head, complete);
    const blocks = kind === 'logs' ? hashes : [...hashes, ...stack.map(({ hash }) => hash)];
    const logs: SentLog[] = [];
    for (const blockHash of blocks)
      logs.push(
        ...(await request<readonly SentLog[]>(show.rig.oracle.url, 'eth_getLogs', [
          { ...filter, blockHash },
        ])),
      );
    const isZero = (hash: string): boolean => /^0x0+$/.test(hash);
    const ours = held.from(complete);
    const wrong = logs.findIndex((log, at) => {
      const own = ours[at];
      const isEarly = own !== undefined && isZero(own.blockHash) && kind === 'pendingLogs';
      const blockHash = isEarly ? own.blockHash : log.blockHash;
      return JSON.stringify(sorted(own)) !== JSON.stringify(sorted({ ...log, blockHash }));
    });
    const isSame = wrong < 0 && ours.length === logs.length;
    const apart = `${ours.length} for ${logs.length}; number ${wrong}: ${JSON.stringify([ours[wrong], logs[wrong]])}`;
    check(`${options.name} holds what op-geth has`, isSame ? [] : [apart]);
  }
}

const sorted = (log: object | undefined): unknown =>
  Object.entries(log ?? {}).toSorted(([one], [other]) => (one < other ? -1 : 1));

function filters(show: Show): { readonly counted: object; readonly made: object } {
  const { workload } = show.rig;
  const [counter, proxy] = [workload.addressOf('Counter'), workload.addressOf('Proxy')];
  const [topic] = encodeEventTopics({ abi: workloadContracts().Workshop.abi, eventName: 'Made' });
  return { counted: { address: [counter, proxy] }, made: { topics: [topic] } };
}

/** Those that are there from the beginning; a live one holds all from block `live` on. */
export function earlyClients(show: Show, live: number): readonly LogClientOptions[] {
  const { node, lowest } = show;
  const { counted, made } = filters(show);
  const from = lowest + 1;
  const [dedicated, open] = [node.url, node.publicUrl];
  const rest = { from, complete: from, breaks: 0 };
  const [steady, breaking] = [rest, { ...rest, breaks }];
  const fresh = { from: undefined, complete: live, breaks: 0 };
  return [
    { name: 'pendingLogs', url: dedicated, kind: 'pendingLogs', filter: {}, ...steady },
    { name: 'pendingLogs, live', url: open, kind: 'pendingLogs', filter: {}, ...fresh },
    { name: 'pendingLogs of two', url: open, kind: 'pendingLogs', filter: counted, ...steady },
    { name: 'logs', url: open, kind: 'logs', filter: {}, ...steady },
    { name: 'logs, live', url: dedicated, kind: 'logs', filter: {}, ...fresh },
    { name: 'logs of a topic', url: dedicated, kind: 'logs', filter: made, ...steady },
    { name: 'pendingLogs, cut', url: open, kind: 'pendingLogs', filter: {}, ...breaking },
    { name: 'pendingLogs, cut too', url: dedicated, kind: 'pendingLogs', filter: {}, ...breaking },
    { name: 'pendingLogs of a topic, cut', url: dedicated, kind: 'pendingLogs', filter: made, ...breaking },
    { name: 'logs, cut', url: dedicated, kind: 'logs', filter: {}, ...breaking },
    { name: 'logs of two, cut', url: open, kind: 'logs', filter: counted, ...breaking },
  ];
}

function lateClients(show: Show): LogClientOptions[] {
  const from = show.lowest + 1;
  const { counted } = filters(show);
  return Array.from({ length: lateCount }, (_, at) => ({
    name: `late ${at}`,
    url: at % 2 === 0 ? show.node.publicUrl : show.node.url,
    kind: at < 2 ? ('pendingLogs' as const) : ('logs' as const),
    filter: at === 1 ? counted : {},
    ...{ from, complete: from, breaks: at === 0 ? breaks / 4 : 0 },
  }));
}
