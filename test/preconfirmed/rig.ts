import { join } from 'node:path';
import { type Hex, keccak256 } from 'viem';
import type { BlockPlan, BuiltFlashblock } from '../support/flashblocks/builder.ts';
import { type Form, inForm } from '../support/flashblocks/forms.ts';
import { type BlockFaults, FlashblockProducer } from '../support/flashblocks/producer.ts';
import {
  type FlashblockServer,
  type FlashblockServerOptions,
  startFlashblockServer,
} from '../support/flashblocks/server.ts';
import { opChainId, opFunder } from '../support/servers/op-genesis.ts';
import { type OpGeth, startOpGeth } from '../support/servers/op-geth.ts';
import { OpSequencer, type SequencedBlock } from '../support/servers/op-sequencer.ts';
import { type FollowingNode, follow, total, untilHead } from '../support/servers/our-node.ts';
import { tempDir, until } from '../support/servers/process.ts';
import { request, sendBatch } from '../support/servers/rpc-client.ts';
import { Workload, type WorkloadBlock } from '../support/workload/workload.ts';
import { startPreconfirmedFleet } from './fleet.ts';
import { startPendingProxy } from './pending-proxy.ts';

/**
 * Streams as builders have them; `newFlashblocks` of a node of ours that listens to them; polling of pending blocks; or the feed of a
 * fleet, whose ingester listens to the streams.
 */
export const feeds = ['raw', 'newFlashblocks', 'polling', 'fleet'] as const;

export type Feed = (typeof feeds)[number];

export interface RigOptions {
  readonly seed: number;
  /** One stream each, all of the same builder; their faults are their own. One without faults when left out. */
  readonly streams?: readonly FlashblockServerOptions[];
  /** What flashblocks say of hashes and roots; all of it when left out. */
  readonly form?: Form;
  /** How our node hears of flashblocks; from the streams when left out. */
  readonly feed?: Feed;
  /** Least time between flashblocks; as fast as op-geth builds when left out. */
  readonly intervalMs?: number;
  /** More options of `serve`. */
  readonly serve?: readonly string[];
  /** Without our node: for a test of the test. */
  readonly withoutOurs?: boolean;
  /** The block that transactions are made for, of a test that makes blocks itself; `rig.tip` when left out. */
  readonly tip?: () => SequencedBlock;
}

/** A pre-confirmed block as far as it was published. */
export interface PreconfirmedBlock {
  readonly number: number;
  readonly index: number;
  /** Of the block so far; op-geth answers for it. */
  readonly hash: Hex;
  /** The hashes of its transactions, where a test asks for them. */
  readonly transactions?: readonly Hex[];
}

/** What a node that has seen everything so far knows. */
export interface Moment {
  readonly head: SequencedBlock;
  /** Not sealed yet, lowest first; empty when there is no pre-confirmed state. */
  readonly stack: readonly PreconfirmedBlock[];
}

/** Called, and waited for, when something has just happened: nothing else happens meanwhile. */
export interface RigEvents {
  published?(built: BuiltFlashblock, moment: Moment): void | Promise<void>;
  sealed?(block: SequencedBlock, moment: Moment): void | Promise<void>;
}

const blocksBefore = 3;
const actionsBefore = 40;

const traits = {
  ...{ chainId: opChainId, funder: opFunder },
  ...{ blobs: false, requests: false, deposits: true, unprotected: true },
};

async function noncesAt(
  url: string,
  addresses: readonly Hex[],
  block: SequencedBlock,
): Promise<readonly number[]> {
  const calls = addresses.map((address) => ({
    method: 'eth_getTransactionCount',
    params: [address, { blockHash: block.hash }],
  }));
  return (await sendBatch(url, calls)).map((answer) => {
    if ('error' in answer) throw new Error(`no nonce: ${answer.error.message}`);
    return Number(answer.result);
  });
}

/** Has the workload's catalogue know what is in a block. */
async function observe(url: string, { catalogue }: Workload, { hash }: SequencedBlock): Promise<void> {
  const [{ transactions }, receipts] = await Promise.all([
    request<{ transactions: never[] }>(url, 'eth_getBlockByHash', [hash, true]),
    request<never[]>(url, 'eth_getBlockReceipts', [hash]),
  ]);
  catalogue.observe(transactions, receipts);
}

/**
 * An OP chain under a random workload, its flashblocks on WebSocket streams, and our node that follows both:
 *
 *   oracle (op-geth), which builds -> sealed blocks -> node (op-geth), the upstream -> ours
 *                                  -> flashblock messages -> servers -> ours
 *
 * `rig.block(plan, faults)` makes one block: index 0, then one flashblock for each of `plan.parts`; the block below is
 * sealed first, or after index 0 with `faults.early`. `rig.workload` makes transactions for `rig.tip`. What has happened
 * is in `rig.moment`; what happens is told to the events. `rig.ours.url` has all methods, with the errors of
 * `--compat execution-apis`; `rig.ours.adminUrl` the metrics. The oracle is a node of its own: building
 * on a block makes op-geth take it for canonical, and on one that is not canonical BLOCKHASH of a call is zero.
 */
export class PreconfirmedRig implements AsyncDisposable {
  /** What our node follows; it knows nothing of a block before that is sealed. */
  readonly node: OpGeth;
  /** Answers for the hash of every partial block, with the hashes of all blocks below. */
  readonly oracle: OpGeth;
  readonly sequencer: OpSequencer;
  readonly workload: Workload;
  readonly servers: readonly FlashblockServer[];
  readonly form: Form;
  readonly feed: Feed;
  readonly #producer: FlashblockProducer;
  /** May be put in place of others at any time. */
  events: RigEvents;
  readonly #resources: AsyncDisposableStack;
  readonly #stack: PreconfirmedBlock[] = [];
  #ours: FollowingNode | undefined;
  #executing: FollowingNode | undefined;
  #replicas: readonly FollowingNode[] = [];

  private constructor(
    parts: Pick<PreconfirmedRig, 'node' | 'oracle' | 'sequencer' | 'workload' | 'servers' | 'form' | 'feed'>,
    events: RigEvents,
    resources: AsyncDisposableStack,
    intervalMs: number | undefined,
  ) {
    this.node = parts.node;
    this.oracle = parts.oracle;
    this.sequencer = parts.sequencer;
    this.workload = parts.workload;
    this.servers = parts.servers;
    this.form = parts.form;
    this.feed = parts.feed;
    this.events = events;
    this.#resources = resources;
    const publish = (built: BuiltFlashblock): Promise<void> => this.#publish(built);
    const sealed = (block: SequencedBlock): Promise<void> => this.#seal(block);
    this.#producer = new FlashblockProducer(this.sequencer, { publish, sealed }, intervalMs);
  }

  /** A chain with the workload's contracts; our node has its head and listens to all streams. */
  static async start(options: RigOptions, events: RigEvents = {}): Promise<PreconfirmedRig> {
    await using starting = new AsyncDisposableStack();
    const startNode = async (): Promise<OpGeth> =>
      starting.use(await startOpGeth({ archive: true, debug: true }));
    const [node, oracle] = await Promise.all([startNode(), startNode()]);
    const sequencer = await OpSequencer.on(node, oracle, true);
    let tip = (): SequencedBlock => sequencer.head;
    const workload = new Workload(options.seed, traits, (addresses) =>
      noncesAt(oracle.url, addresses, tip()),
    );
    const grow = async (block: WorkloadBlock): Promise<void> =>
      observe(node.url, workload, await sequencer.seal(block));
    for await (const block of workload.setup()) await grow(block);
    // So that there is something of every kind to ask about.
    for (let left = blocksBefore; left > 0; left -= 1) await grow(await workload.next(actionsBefore));
    const servers: FlashblockServer[] = [];
    for (const stream of options.streams ?? [{}])
      servers.push(starting.use(await startFlashblockServer(stream)));
    const resources = new AsyncDisposableStack();
    const rig = new PreconfirmedRig(
      {
        ...{ node, oracle, sequencer, workload, servers },
        ...{ form: options.form ?? 'real', feed: options.feed ?? 'raw' },
      },
      events,
      resources,
      options.intervalMs,
    );
    tip = options.tip ?? (() => rig.tip);
    if (options.withoutOurs !== true) {
      const data = starting.use(await tempDir('preconfirmed'));
      rig.#ours = await rig.#startOurs(starting, data.path, options.serve ?? []);
      // Replicas take up pre-confirmed blocks with the first block that the feed says is sealed.
      if (rig.feed === 'fleet') {
        await rig.listenedTo();
        await rig.block({ parts: [] });
        await rig.seal();
        for (const replica of rig.#replicas) await untilHead(replica, sequencer.head.hash);
      }
      await rig.listenedTo();
    }
    resources.use(starting.move());
    return rig;
  }

  get ours(): FollowingNode {
    if (this.#ours === undefined) throw new Error('our node was not started');
    return this.#ours;
  }

  /** The one that executes flashblocks. */
  get executing(): FollowingNode {
    return this.#executing ?? this.ours;
  }

  /** What the next block stands on, sealed or not. */
  get tip(): SequencedBlock {
    return this.#producer.tip;
  }

  get moment(): Moment {
    return { head: this.sequencer.head, stack: [...this.#stack] };
  }

  /** One block in flashblocks. It is sealed when the next one begins, or by `seal`. */
  block(plan: BlockPlan, faults?: BlockFaults): Promise<void> {
    return this.#producer.block(plan, faults);
  }

  seal(): Promise<SequencedBlock> {
    return this.#producer.seal();
  }

  /** Waits until our node listens to every stream. */
  async listenedTo(): Promise<void> {
    if (this.feed === 'polling') return;
    const isListenedTo = (): true | undefined =>
      this.servers.every(({ connected }) => connected > 0) ? true : undefined;
    await until('our node to listen to all streams', isListenedTo);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }

  async #publish(built: BuiltFlashblock): Promise<void> {
    const { message, payload } = built;
    const number = Number(payload.blockNumber);
    const transactions = payload.transactions.map((raw) => keccak256(raw));
    const before = this.#stack.at(-1);
    // A rebuild takes the place of what was there.
    while ((this.#stack.at(-1)?.number ?? -1) >= number) this.#stack.pop();
    // Of a whole block it only shows that there is more in it.
    const grown = (before?.index ?? 0) + (transactions.length > (before?.transactions?.length ?? 0) ? 1 : 0);
    const index = this.feed !== 'polling' || message.index === 0 ? message.index : grown;
    this.#stack.push({ number, index, hash: payload.blockHash, transactions });
    const shown = inForm(built, this.form);
    for (const server of this.servers) server.publish(shown);
    await this.events.published?.(built, this.moment);
  }

  async #seal(block: SequencedBlock): Promise<void> {
    await observe(this.node.url, this.workload, block);
    while ((this.#stack[0]?.number ?? Number.POSITIVE_INFINITY) <= block.number) this.#stack.shift();
    await this.events.sealed?.(block, this.moment);
  }

  async #startOurs(
    resources: AsyncDisposableStack,
    folder: string,
    more: readonly string[],
  ): Promise<FollowingNode> {
    const serve = async (name: string, urls: readonly string[], options: readonly string[]) =>
      resources.use(await this.#serve(join(folder, name), urls, options));
    const streams = this.servers.map(({ url }) => url);
    switch (this.feed) {
      case 'raw':
        return serve('data', streams, more);
      case 'newFlashblocks': {
        const first = await serve('first', streams, more);
        const ours = await serve('data', [first.url.replace('http', 'ws')], more);
        const isSubscribed = async (): Promise<true | undefined> =>
          (await total(first, 'chain_query_subscriptions')) > 0 ? true : undefined;
        await until('our node to subscribe to the other', isSubscribed);
        return ours;
      }
      case 'polling': {
        const pending = (): Hex => this.#stack.at(-1)?.hash ?? this.sequencer.head.hash;
        const proxy = await startPendingProxy({ oracleUrl: this.oracle.url, form: this.form, pending });
        resources.use(proxy);
        const ours = await serve('data', [proxy.url], [...more, '--flashblock-poll-ms', '100']);
        await until('our node to poll', () => (proxy.asked > 0 ? true : undefined));
        return ours;
      }
      case 'fleet': {
        const { ingester, replicas, each } = await startPreconfirmedFleet(resources, folder, {
          ...{ upstream: this.node.ws, rules: this.node.genesisFile },
          ...{ flashblocks: streams, more },
        });
        this.#executing = ingester;
        this.#replicas = each;
        return replicas;
      }
    }
  }

  #serve(dataDir: string, urls: readonly string[], more: readonly string[]): Promise<FollowingNode> {
    return follow({
      dataDir,
      upstreams: [this.node.ws],
      rules: this.node.genesisFile,
      more: [...urls.flatMap((url) => ['--flashblocks', url]), ...more],
    });
  }
}
