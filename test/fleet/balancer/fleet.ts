import { join } from 'node:path';
import type { Hex } from 'viem';
import { type PreconfirmedBlock, PreconfirmedRig } from '../../preconfirmed/rig.ts';
import { cutIntoParts } from '../../support/flashblocks/builder.ts';
import type { BlockFaults } from '../../support/flashblocks/producer.ts';
import { Random } from '../../support/random.ts';
import { startCassandra } from '../../support/servers/fleet/cassandra.ts';
import { fleetOptions, INGESTER_RUNS } from '../../support/servers/fleet/members.ts';
import { startNats } from '../../support/servers/fleet/nats.ts';
import { boundAddresses } from '../../support/servers/node.ts';
import { type FollowingNode, untilHead, whereItListens } from '../../support/servers/our-node.ts';
import { type Running, tempDir, until } from '../../support/servers/process.ts';
import { request } from '../../support/servers/rpc-client.ts';
import { startProgram } from '../../support/servers/serving.ts';
import { Balancer } from './balancer.ts';

/** At first; one more joins them. */
const REPLICAS = 2;
/** Of a block, 200 ms each. */
const FLASHBLOCKS = 5;
const ACTIONS = 12;
const FINAL_DEPTH = 2;
const READY_MS = 60_000;
/** Of replicas: longer than a balancer takes to see that one is not ready any more. */
const DRAIN_MS = 1_000;
/** Of replicas: longer than a block, since a new writer may take back the flashblocks of the one under way. */
const AT_LEAST_WAIT_MS = 5_000;

/** A sent transaction that the chain's node may have in its pool. */
interface Sent {
  readonly hash: Hex;
  readonly raw: Hex;
}

/** How blocks are made. */
interface Production {
  /** Builders begin anew, and seal other blocks than they told of. */
  readonly isFaulty: boolean;
  /** Of a block after its first. */
  readonly flashblocks: number;
}

/**
 * A fleet behind a balancer: op-geth with flashblocks, one node each of Cassandra and NATS, two ingesters and three replicas, all real. The
 * chain grows from `produce` on.
 */
export class BalancedFleet implements AsyncDisposable {
  readonly rig: PreconfirmedRig;
  readonly balancer: Balancer;
  /** Those that run, in the order in which they were started. */
  readonly replicas: FollowingNode[] = [];
  readonly ingesters: Running[] = [];
  /** The hash of the block so far, by `<number>;<index>`: op-geth answers for it. */
  readonly published = new Map<string, Hex>();
  /** What the next blocks take in, once the chain's node has it in its pool. */
  readonly sent: Sent[] = [];
  readonly #random: Random;
  readonly #common: readonly string[];
  readonly #folder: string;
  readonly #resources: AsyncDisposableStack;
  #stop = new AbortController();
  #started = 0;
  #producing: Promise<void> = Promise.resolve();

  private constructor(
    parts: { rig: PreconfirmedRig; balancer: Balancer; random: Random },
    common: readonly string[],
    folder: string,
    resources: AsyncDisposableStack,
  ) {
    this.rig = parts.rig;
    this.balancer = parts.balancer;
    this.#random = parts.random;
    this.#common = common;
    this.#folder = folder;
    this.#resources = resources;
  }

  static async start(seed: number): Promise<BalancedFleet> {
    await using starting = new AsyncDisposableStack();
    const [rig, cassandra, nats, dir, balancer] = await Promise.all([
      PreconfirmedRig.start({ seed, withoutOurs: true, intervalMs: 200 }),
      startCassandra({ nodes: 1 }),
      startNats({ nodes: 1 }),
      tempDir('balanced'),
      Balancer.start(),
    ]);
    for (const part of [dir, rig, cassandra, nats, balancer]) starting.use(part);
    const common = [
      ...fleetOptions({ cassandra, nats }),
      ...['--chain', rig.node.genesisFile, '--upstream', rig.node.ws, '--upstream-poll-ms', '50'],
      ...['--admin', '127.0.0.1:0'],
    ];
    const random = new Random(seed, 0);
    const fleet = new BalancedFleet({ rig, balancer, random }, common, dir.path, starting.move());
    rig.events = { published: (_, { stack }) => fleet.#note(stack) };
    try {
      const first = await fleet.ingest();
      await says(first, /this ingester writes/);
      await Promise.all([fleet.ingest(), ...Array.from({ length: REPLICAS }, () => fleet.serve())]);
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
    return fleet;
  }

  /** Starts one more ingester; done when it runs, whether it writes or waits. */
  async ingest(): Promise<Running> {
    const flashblocks = this.rig.servers.flatMap(({ url }) => ['--flashblocks', url]);
    const ingester = startProgram(['ingest', '--finality-ms', '200', ...this.#common, ...flashblocks]);
    this.ingesters.push(ingester);
    void ingester.exited.then(() => remove(this.ingesters, ingester));
    await says(ingester, INGESTER_RUNS);
    return ingester;
  }

  /** Starts one more replica; done when the balancer sends requests there. */
  async serve(): Promise<FollowingNode> {
    const portFile = join(this.#folder, `replica-${this.#started++}.json`);
    const running = startProgram([
      ...['serve', '--public', 'off', '--dedicated', '127.0.0.1:0', '--threads', '2'],
      ...['--listen-port-file', portFile, '--drain-delay-ms', String(DRAIN_MS)],
      ...['--at-least-wait-ms', String(AT_LEAST_WAIT_MS)],
      // A machine that is slow for all of them at the same time is no reason to serve nobody.
      ...['--ready-preconfirmed-ms', String(READY_MS)],
      ...this.#common,
    ]);
    this.#resources.use(running);
    const replica = whereItListens(running, await boundAddresses(running, portFile));
    this.replicas.push(replica);
    this.balancer.add(replica);
    void running.exited.then(() => {
      remove(this.replicas, replica);
      this.balancer.remove(replica);
    });
    await until('a replica to be ready', () => this.balancer.isReady(replica) || undefined, READY_MS);
    return replica;
  }

  /** Makes block after block from now on, until `quiet`. */
  produce(options: Partial<Production> = {}): void {
    this.#stop = new AbortController();
    this.#producing = this.#produce(
      { isFaulty: false, flashblocks: FLASHBLOCKS, ...options },
      this.#stop.signal,
    );
    this.#producing.catch(() => {});
  }

  /** Seals what is open, and makes nothing more; done when every replica serves the head and nothing above it. */
  async quiet(): Promise<void> {
    this.#stop.abort();
    await this.#producing;
    const { hash } = await this.rig.seal();
    await Promise.all(this.replicas.map((replica) => untilHead(replica, hash)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#producing.catch(() => {});
    await Promise.all(
      [...this.replicas.map(({ running }) => running), ...this.ingesters].map((each) => each.stop()),
    );
    await this.#resources.disposeAsync();
  }

  async #produce({ isFaulty, flashblocks }: Production, signal: AbortSignal): Promise<void> {
    const { rig } = this;
    while (!signal.aborted) {
      const pooled = await this.#pooled();
      const { deposits, transactions } = await rig.workload.next(ACTIONS);
      const parts = [pooled, ...cutIntoParts(transactions, flashblocks - 1)];
      await rig.block({ deposits, parts }, isFaulty ? this.#faults() : {});
      await rig.sequencer.setFinalized(Math.max(0, rig.sequencer.head.number - FINAL_DEPTH));
    }
  }

  #faults(): BlockFaults {
    return this.#random.weighted<BlockFaults>([
      [6, () => ({})],
      [1, () => ({ rebuildAfter: this.#random.between(1, 3) })],
      [1, () => ({ sealOther: true })],
      [1, () => ({ early: true, sealAfter: this.#random.between(1, 3) })],
    ]);
  }

  async #pooled(): Promise<readonly Hex[]> {
    const raw: Hex[] = [];
    for (const sent of [...this.sent]) {
      if ((await request(this.rig.node.url, 'eth_getTransactionByHash', [sent.hash])) === null) break;
      raw.push(sent.raw);
      remove(this.sent, sent);
    }
    return raw;
  }

  #note(stack: readonly PreconfirmedBlock[]): void {
    const newest = stack.at(-1);
    if (newest !== undefined) this.published.set(`${newest.number};${newest.index}`, newest.hash);
  }
}

async function says({ output }: Running, pattern: RegExp): Promise<void> {
  await until(`an ingester to say ${pattern.source}`, () => pattern.test(output()) || undefined, READY_MS);
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at >= 0) list.splice(at, 1);
}
