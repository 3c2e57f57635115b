import { join } from 'node:path';
import type { Hex } from 'viem';
import { FLASHBLOCK_MS, FlashblockProducer } from '../support/flashblocks/producer.ts';
import { type FlashblockServer, startFlashblockServer } from '../support/flashblocks/server.ts';
import { opChainId, opFunder } from '../support/servers/op-genesis.ts';
import { type OpGeth, startOpGeth } from '../support/servers/op-geth.ts';
import { OpSequencer } from '../support/servers/op-sequencer.ts';
import { tempDir, until } from '../support/servers/process.ts';
import { request } from '../support/servers/rpc-client.ts';
import { type AttackedNode, startAttackedNode } from './attacked-node.ts';
import type { ListPlace } from './clients/long-calls.ts';
import { emitLogs, writeList } from './evm.ts';

/** Small, so that there are blocks below it soon. */
const UNDO_WINDOW = 8;
/** What caches hold is bounded by options, and stays on purpose: small ones, or it would hide what an attack leaves behind. */
const SMALL_CACHES = [
  ...['--render-cache-bytes', '8MiB', '--code-cache-bytes', '8MiB', '--hot-state-entries', '65536'],
  ...['--historical-state-bytes', '16MiB', '--filter-bytes', '32MiB'],
];
const FLASHBLOCKS_A_BLOCK = 4;
const BLOCKS_OF_LOGS = 3;
const LOG_TRANSACTIONS = 10;

export interface RigOptions {
  /** Starts what our node is given for upstreams and streams; the chain's own where it gives none. */
  readonly prepare?: (
    upstream: OpGeth,
    stream: FlashblockServer,
  ) => Promise<{ readonly upstreams?: readonly string[]; readonly streams?: readonly string[] }>;
  readonly serve?: readonly string[];
}

/** A chain that goes on making blocks in flashblocks, a second each, and our node, which follows it. */
export class AttackRig implements AsyncDisposable {
  readonly upstream: OpGeth;
  readonly stream: FlashblockServer;
  readonly node: AttackedNode;
  /** When each block was sealed, by number. */
  readonly sealedAt = new Map<number, number>();
  place: ListPlace = { list: '0x', block: '0x0' };
  /** Whether flashblocks have logs now. */
  emitsLogs = false;
  readonly #sequencer: OpSequencer;
  readonly #resources: AsyncDisposableStack;
  #nonce = 0;
  #isOver = false;
  #producing: Promise<void> = Promise.resolve();

  private constructor(
    parts: Pick<AttackRig, 'upstream' | 'stream' | 'node'>,
    sequencer: OpSequencer,
    resources: AsyncDisposableStack,
  ) {
    this.upstream = parts.upstream;
    this.stream = parts.stream;
    this.node = parts.node;
    this.#sequencer = sequencer;
    this.#resources = resources;
  }

  static async start(options: RigOptions = {}): Promise<AttackRig> {
    await using starting = new AsyncDisposableStack();
    // Building moves the head of whoever builds: the upstream is another node.
    const [upstream, builder] = await Promise.all(
      [0, 1].map(async () => starting.use(await startOpGeth({ archive: true }))),
    );
    if (upstream === undefined || builder === undefined) throw new Error('no upstream');
    const sequencer = await OpSequencer.on(upstream, builder, true);
    await sequencer.seal();
    const stream = starting.use(await startFlashblockServer());
    const data = starting.use(await tempDir('attacks'));
    const prepared = (await options.prepare?.(upstream, stream)) ?? {};
    const node = starting.use(
      await startAttackedNode([
        ...['--data', join(data.path, 'data'), '--chain', upstream.genesisFile],
        ...(prepared.upstreams ?? [upstream.ws]).flatMap((url) => ['--upstream', url]),
        ...(prepared.streams ?? [stream.url]).flatMap((url) => ['--flashblocks', url]),
        ...['--undo-window', String(UNDO_WINDOW), '--hot-window', String(UNDO_WINDOW)],
        ...['--upstream-poll-ms', '100'],
        ...SMALL_CACHES,
        ...(options.serve ?? []),
      ]),
    );
    const rig = new AttackRig({ upstream, stream, node }, sequencer, starting.move());
    try {
      await rig.#furnish();
    } catch (error) {
      await rig[Symbol.asyncDispose]();
      throw error;
    }
    return rig;
  }

  /** Waits until our node has what the chain has now. */
  async caughtUp(deadlineMs = 20_000): Promise<void> {
    const { number } = this.#sequencer.head;
    const isThere = async (): Promise<true | undefined> =>
      Number(await request(this.node.url, 'eth_blockNumber')) >= number ? true : undefined;
    await until(`our node to reach block ${number}`, isThere, deadlineMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#producing;
    await this.#resources.disposeAsync();
  }

  /** A list of slots, blocks full of logs, and blocks above them until the list is below the undo window. */
  async #furnish(): Promise<void> {
    const deployed = await this.#sequencer.seal({ transactions: [await this.#sign(writeList)] });
    const { hash } = deployed;
    const [receipt] = (
      await request<readonly { readonly contractAddress: Hex | null }[]>(
        this.upstream.url,
        'eth_getBlockReceipts',
        [hash],
      )
    ).slice(-1);
    const list = receipt?.contractAddress;
    if (list === undefined || list === null) throw new Error('the list was not written');
    this.place = { list, block: `0x${deployed.number.toString(16)}` };
    for (let block = 0; block < BLOCKS_OF_LOGS; block++) {
      const transactions: Hex[] = [];
      for (let count = 0; count < LOG_TRANSACTIONS; count++) transactions.push(await this.#sign(emitLogs));
      await this.#sequencer.seal({ transactions });
    }
    for (let block = 0; block < UNDO_WINDOW; block++) await this.#sequencer.seal();
    await this.caughtUp();
    this.#producing = this.#produce();
  }

  async #produce(): Promise<void> {
    const producer = new FlashblockProducer(
      this.#sequencer,
      {
        publish: ({ message }) => this.stream.publish(message),
        sealed: ({ number }) => void this.sealedAt.set(number, Date.now()),
      },
      FLASHBLOCK_MS,
    );
    while (!this.#isOver) {
      const parts: Hex[][] = [];
      for (let part = 0; part < FLASHBLOCKS_A_BLOCK; part++) {
        const code = this.emitsLogs ? emitLogs : undefined;
        parts.push([await this.#sign(code), await this.#sign(undefined)]);
      }
      await producer.block({ parts });
    }
  }

  /** Code to run as a creation, or a transfer. */
  #sign(data: Hex | undefined): Promise<Hex> {
    return opFunder.signTransaction({
      ...{ chainId: opChainId, type: 'eip1559', nonce: this.#nonce++ },
      ...{ maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 0n },
      ...(data === undefined
        ? { to: opFunder.address, value: 1n, gas: 21_000n }
        : { data, gas: 20_000_000n }),
    });
  }
}
