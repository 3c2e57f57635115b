import { decodeFlashblock } from '../../src/source/flashblocks/decode.ts';
import type { FlashblockEvent, FlashblockObservation } from '../../src/source/flashblocks/events.ts';
import { FlashblockSource } from '../../src/source/flashblocks/flashblock-source.ts';
import { DEFAULT_FLASHBLOCK_OPTIONS, type FlashblockOptions } from '../../src/source/flashblocks/options.ts';
import { type BuiltFlashblock, cutIntoParts } from '../support/flashblocks/builder.ts';
import { type BlockFaults, FlashblockProducer } from '../support/flashblocks/producer.ts';
import {
  type FlashblockServer,
  type FlashblockServerOptions,
  startFlashblockServer,
} from '../support/flashblocks/server.ts';
import { opChainId, opFunder } from '../support/servers/op-genesis.ts';
import { type OpGeth, startOpGeth } from '../support/servers/op-geth.ts';
import { OpSequencer, type SequencedBlock } from '../support/servers/op-sequencer.ts';
import { until } from '../support/servers/process.ts';
import { sendBatch } from '../support/servers/rpc-client.ts';
import { PrefixCheck } from '../support/source/prefix-check.ts';
import { Workload } from '../support/workload/workload.ts';

/** An OP chain under a workload, built by a node of its own so that the other one knows nothing before it is sealed. */
export class FlashblockChain implements AsyncDisposable {
  readonly node: OpGeth;
  readonly sequencer: OpSequencer;
  readonly workload: Workload;
  /** What transactions are made for. */
  tip: SequencedBlock;
  private readonly builder: OpGeth;

  private constructor(node: OpGeth, builder: OpGeth, sequencer: OpSequencer, seed: number) {
    this.node = node;
    this.builder = builder;
    this.sequencer = sequencer;
    this.tip = sequencer.head;
    const traits = { chainId: opChainId, funder: opFunder, blobs: false, requests: false };
    this.workload = new Workload(
      seed,
      { ...traits, deposits: true, unprotected: true },
      async (addresses) => {
        const params = (address: string): unknown[] => [address, { blockHash: this.tip.hash }];
        const answers = await sendBatch(
          node.url,
          addresses.map((address) => ({ method: 'eth_getTransactionCount', params: params(address) })),
        );
        return answers.map((answer) => {
          if ('error' in answer) throw new Error(`no nonce: ${answer.error.message}`);
          return Number(answer.result);
        });
      },
    );
  }

  static async start(seed: number): Promise<FlashblockChain> {
    const [node, builder] = await Promise.all([
      startOpGeth({ archive: true }),
      startOpGeth({ archive: true }),
    ]);
    const chain = new FlashblockChain(node, builder, await OpSequencer.on(node, builder), seed);
    for await (const block of chain.workload.setup()) chain.tip = await chain.sequencer.seal(block);
    return chain;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.node.stop(), this.builder.stop()]);
  }
}

export interface RigOptions extends Partial<Omit<FlashblockOptions, 'sequence' | 'stream'>> {
  readonly sequence?: Partial<FlashblockOptions['sequence']>;
  readonly stream?: Partial<FlashblockOptions['stream']>;
  readonly intervalMs?: number;
  /** Nothing is sent before `publishUntil`. */
  readonly manual?: boolean;
  /** Waited for after each flashblock. */
  readonly afterPublish?: (built: BuiltFlashblock, rig: FlashblockRig) => Promise<void>;
}

/** Streams of one chain, and our reader of all of them. */
export class FlashblockRig implements AsyncDisposable {
  readonly chain: FlashblockChain;
  readonly servers: readonly FlashblockServer[];
  readonly source: FlashblockSource;
  readonly producer: FlashblockProducer;
  readonly published: BuiltFlashblock[] = [];
  readonly events: FlashblockEvent[] = [];
  readonly observed: FlashblockObservation[] = [];
  private readonly abort = new AbortController();
  private readonly reading: Promise<void>;

  private constructor(chain: FlashblockChain, servers: readonly FlashblockServer[], options: RigOptions) {
    this.chain = chain;
    this.servers = servers;
    const { stream, sequence, intervalMs, manual, afterPublish, ...rest } = options;
    const defaults = DEFAULT_FLASHBLOCK_OPTIONS;
    this.source = new FlashblockSource(
      servers.map(({ url }) => url),
      {
        ...defaults,
        ...rest,
        // Tests build as fast as they can, and stop to think in between.
        stream: { ...defaults.stream, silenceMs: 20_000, ...stream },
        sequence: { ...defaults.sequence, ...sequence },
      },
      { encode: () => [], observe: (event) => this.observed.push(event) },
    );
    this.producer = new FlashblockProducer(
      chain.sequencer,
      {
        publish: async (built) => {
          this.published.push(built);
          if (manual !== true) for (const server of servers) server.publish(built.message);
          await afterPublish?.(built, this);
        },
        sealed: (block) => this.source.setHead(block),
      },
      intervalMs,
    );
    this.source.setHead(chain.sequencer.head);
    this.reading = this.read();
  }

  static async start(
    chain: FlashblockChain,
    streams: readonly FlashblockServerOptions[],
    options: RigOptions = {},
  ): Promise<FlashblockRig> {
    const servers = await Promise.all(streams.map(startFlashblockServer));
    const rig = new FlashblockRig(chain, servers, options);
    await rig.connected();
    return rig;
  }

  async connected(): Promise<void> {
    await until('all streams to be listened to', () =>
      this.servers.every(({ connected }) => connected === 1) ? true : undefined,
    );
  }

  private async read(): Promise<void> {
    for await (const event of this.source.events(this.abort.signal)) this.events.push(event);
  }

  /** Waits until every stream has brought everything; for streams without faults. */
  async delivered(): Promise<void> {
    await until('all messages', () =>
      this.source.streams.every(({ messages }) => messages === this.published.length) ? true : undefined,
    );
  }

  /** A block of the workload in `parts` flashblocks and index 0. */
  async block(faults: BlockFaults = {}, parts = 5): Promise<void> {
    this.chain.tip = this.producer.tip;
    let next = await this.chain.workload.next();
    while (next.transactions.length === 0) next = await this.chain.workload.next();
    const { deposits, transactions } = next;
    await this.producer.block({ deposits, parts: cutIntoParts(transactions, parts) }, faults);
  }

  async seal(): Promise<SequencedBlock> {
    const sealed = await this.producer.seal();
    this.chain.tip = sealed;
    return sealed;
  }

  /** What was passed on, as `block:index` counted from the first block, or why not. */
  shown(): readonly string[] {
    const first = this.published[0]?.message.metadata.block_number ?? 0;
    return this.events.map((event) => {
      if (event.kind === 'flashblock') {
        return `${event.flashblock.blockNumber - first}:${event.flashblock.index}`;
      }
      return event.kind === 'dropped'
        ? `dropped from ${event.from - first}: ${event.reason}`
        : `confirmed ${event.number - first}`;
    });
  }

  async showing(text: string): Promise<readonly string[]> {
    const seen = (): true | undefined => (this.shown().includes(text) ? true : undefined);
    await until(`${text}; shown: ${this.shown().join(', ')}`, seen, 10_000);
    return this.shown();
  }

  /** Sends all of it at once, and again if nobody was connected; what came before is a duplicate. */
  async publishUntil(text: string): Promise<void> {
    await until(text, async () => {
      await this.connected();
      for (const { message } of this.published) for (const server of this.servers) server.publish(message);
      return this.shown().includes(text) ? true : undefined;
    });
  }

  decisions(): ReadonlySet<string> {
    return new Set(this.observed.flatMap((event) => (event.kind === 'decided' ? [event.decision] : [])));
  }

  /** Events that are not the next step from the ones before, and flashblocks that are not as they were published. */
  problems(): readonly string[] {
    const check = new PrefixCheck((number) => this.chain.sequencer.at(number - 1).hash);
    for (const event of this.events) check.take(event);
    const truths = new Set(
      this.published.map(({ message }) => {
        const decoded = decodeFlashblock(JSON.stringify(message), DEFAULT_FLASHBLOCK_OPTIONS.stream);
        return decoded.ok ? decoded.flashblock.digest : decoded.error.message;
      }),
    );
    const strange = check.passed.filter(({ digest }) => !truths.has(digest));
    return [...check.problems, ...strange.map(({ payloadId, index }) => `${payloadId}:${index} is made up`)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.seal();
    this.abort.abort();
    await this.reading;
    await Promise.all(this.servers.map((server) => server[Symbol.asyncDispose]()));
  }
}
