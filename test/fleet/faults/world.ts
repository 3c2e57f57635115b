import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startChain, type WorkloadChain } from '../../support/servers/chains.ts';
import { type Cassandra, CQL_PORT, startCassandra } from '../../support/servers/fleet/cassandra.ts';
import { fleetOptions, INGESTER_RUNS } from '../../support/servers/fleet/members.ts';
import { type Nats, startNats } from '../../support/servers/fleet/nats.ts';
import { openWays, type Ways } from '../../support/servers/fleet/ways.ts';
import { boundAddresses, startCli } from '../../support/servers/node.ts';
import { type Running, tempDir, until } from '../../support/servers/process.ts';

/** One of our processes. */
export interface Process {
  readonly running: Running;
  /** What its wall clock is moved by, in a file. */
  readonly clockFile: string;
  /** Of a replica, once it listens. */
  readonly url?: string | undefined;
}

const CLOCK = new URL('clock-jump.ts', import.meta.url).href;
export const CHAIN_NAME = 'fleet-main';
const READY_MS = 60_000;

/** Two ingesters and three replicas on three Cassandra and three NATS nodes, all real, beside a chain. */
export class World implements AsyncDisposable {
  readonly chain: WorkloadChain;
  readonly cassandra: Cassandra;
  readonly nats: Nats;
  /** From our processes to Cassandra. */
  readonly ways: Ways;
  readonly ingesters: Process[] = [];
  readonly replicas: Process[] = [];
  /** What those said last that ended. */
  readonly lastWords: string[] = [];
  /** Where our processes find Cassandra: the ways lead there. */
  readonly #fronts: readonly string[];
  readonly #folder: string;
  readonly #resources: AsyncDisposableStack;
  #started = 0;

  private constructor(
    parts: Pick<World, 'chain' | 'cassandra' | 'nats' | 'ways'>,
    fronts: readonly string[],
    folder: string,
    resources: AsyncDisposableStack,
  ) {
    this.chain = parts.chain;
    this.cassandra = parts.cassandra;
    this.nats = parts.nats;
    this.ways = parts.ways;
    this.#fronts = fronts;
    this.#folder = folder;
    this.#resources = resources;
  }

  static async start(): Promise<World> {
    await using starting = new AsyncDisposableStack();
    const frontOf = (address: string): string =>
      address.replace(/\.(\d+)$/, (_, last) => `.${Number(last) + 100}`);
    const [chain, cassandra, nats, dir] = await Promise.all([
      startChain('op-geth', {}),
      startCassandra({ nodes: 3, frontOf }),
      startNats({ nodes: 3 }),
      tempDir('fleet'),
    ]);
    for (const part of [dir, chain, nats, cassandra]) starting.use(part);
    const { addresses } = cassandra;
    const ways = starting.use(await openWays(addresses.map(frontOf), addresses, CQL_PORT));
    const parts = { chain, cassandra, nats, ways };
    const fronts = addresses.map((address) => `${frontOf(address)}:${CQL_PORT}`);
    return new World(parts, fronts, dir.path, starting.move());
  }

  /** The ingester that writes; undefined while none does. */
  get leader(): Process | undefined {
    return this.ingesters.findLast(({ running }) => running.output().includes('this ingester writes'));
  }

  /** Starts one more ingester; done when it runs, whether it writes or waits. */
  async ingest(): Promise<Process> {
    const process = await this.#start([
      'ingest',
      '--chain',
      this.chain.rulesFile,
      '--upstream',
      this.chain.ws,
    ]);
    this.ingesters.push(process);
    this.#watch(process, this.ingesters);
    await until(
      'an ingester to write, or to wait',
      () => INGESTER_RUNS.test(process.running.output()) || undefined,
      READY_MS,
    );
    return process;
  }

  /** Starts one more replica; done when it serves. */
  async serve(): Promise<Process> {
    const portFile = join(this.#folder, `ports-${this.#started}.json`);
    const started = await this.#start([
      ...['serve', '--chain', this.chain.rulesFile, '--upstream', this.chain.ws],
      ...['--public', 'off', '--dedicated', '127.0.0.1:0', '--threads', '2'],
      ...['--listen-port-file', portFile],
    ]);
    const ports = await boundAddresses(started.running, portFile);
    const process = { ...started, url: `http://${ports['dedicated']}` };
    this.replicas.push(process);
    this.#watch(process, this.replicas);
    return process;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const processes = [...this.replicas, ...this.ingesters];
    for (const { running } of processes) running.signal('SIGCONT');
    await Promise.all(processes.map(({ running }) => running.stop()));
    await this.#resources.disposeAsync();
  }

  #watch(process: Process, list: Process[]): void {
    void process.running.exited.then((code) => {
      remove(list, process);
      this.lastWords.push(`ended with ${code}: ${process.running.output().slice(-1_500)}`);
    });
  }

  async #start(args: readonly string[]): Promise<Process> {
    const clockFile = join(this.#folder, `clock-${this.#started++}`);
    await writeFile(clockFile, '0');
    const running = startCli(
      [
        ...args,
        ...['--admin', '127.0.0.1:0'],
        ...fleetOptions({ cassandra: { ...this.cassandra, contactPoints: this.#fronts }, nats: this.nats }),
        ...(this.chain.serveOptions ?? []),
      ],
      { CLOCK_FILE: clockFile, NODE_OPTIONS: `--import ${CLOCK}` },
    );
    return { running, clockFile };
  }
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at >= 0) list.splice(at, 1);
}
