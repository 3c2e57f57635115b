import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Abi, encodeFunctionData, getContractAddress, type Hex } from 'viem';
import { type BuiltFlashblock, FlashblockBuilder } from '../../test/support/flashblocks/builder.ts';
import { FLASHBLOCK_MS } from '../../test/support/flashblocks/producer.ts';
import { type FlashblockServer, startFlashblockServer } from '../../test/support/flashblocks/server.ts';
import { opChainId, opFunder } from '../../test/support/servers/op-genesis.ts';
import { type OpGeth, startOpGeth } from '../../test/support/servers/op-geth.ts';
import { OpSequencer, type SequencedBlock } from '../../test/support/servers/op-sequencer.ts';
import { type FollowingNode, follow, untilHead } from '../../test/support/servers/our-node.ts';
import { tempDir, until } from '../../test/support/servers/process.ts';
import { compileSolidity } from '../../test/support/workload/solidity.ts';
import { tokenSource } from '../../test/support/workload/token.ts';
import { now } from './clock.ts';

/** Writes as many slots as it is told to, and reads two runs of ten. */
const wideSource = `pragma solidity ^0.8.0;
contract Wide {
  function write(uint from, uint n, uint value) public {
    for (uint i = from; i < from + n; i++) assembly { sstore(i, value) }
  }
  function twenty(uint a, uint b) public view returns (uint sum) {
    for (uint i = 0; i < 10; i++) assembly { sum := add(sum, add(sload(add(a, i)), sload(add(b, i)))) }
  }
}`;

const gasLimit = 1_000_000_000n;
/** Our node must wait for us, however busy the machine is: what is late is measured, not dropped. */
const patient = [
  ...[
    '--flashblock-silence-ms',
    '60000',
    '--preconfirmed-timeout-ms',
    '60000',
    '--at-least-wait-ms',
    '60000',
  ],
  ...['--finality-ms', '3600000'],
];

/** A block whose flashblocks are ready to be published. */
export interface ReadyBlock {
  readonly ref: SequencedBlock;
  readonly flashblocks: readonly BuiltFlashblock[];
}

export interface ReplayEvents {
  /** May prepare for the flashblock; nothing is published before it ends. */
  before?(flashblock: BuiltFlashblock): void | Promise<void>;
  /** `at`: when the stream began to write it. */
  published?(flashblock: BuiltFlashblock, at: number): void | Promise<void>;
  /** `at`: when the upstream had the block as its head. */
  sealed?(ref: SequencedBlock, at: number): void | Promise<void>;
}

/**
 * An OP chain whose blocks are built beforehand, since op-geth takes longer for a large flashblock than the time between
 * two, and our node, which follows it and its stream.
 */
export class FlashblockChain implements AsyncDisposable {
  readonly tokens: readonly Hex[];
  readonly tokenAbi: Abi;
  readonly wide: Hex;
  readonly wideAbi: Abi;
  readonly #upstream: OpGeth;
  readonly #sequencer: OpSequencer;
  readonly #builder: FlashblockBuilder;
  readonly #server: FlashblockServer;
  readonly #resources: AsyncDisposableStack;
  /** What the next block is built on. */
  #tip: SequencedBlock;
  #nonce: number;
  #ours: FollowingNode | undefined;
  #unsealed: SequencedBlock | undefined;
  #publishedAt = 0;

  private constructor(
    parts: Pick<FlashblockChain, 'tokens' | 'tokenAbi' | 'wide' | 'wideAbi'>,
    upstream: OpGeth,
    sequencer: OpSequencer,
    server: FlashblockServer,
    resources: AsyncDisposableStack,
  ) {
    this.tokens = parts.tokens;
    this.tokenAbi = parts.tokenAbi;
    this.wide = parts.wide;
    this.wideAbi = parts.wideAbi;
    this.#upstream = upstream;
    this.#sequencer = sequencer;
    this.#builder = new FlashblockBuilder(sequencer);
    this.#server = server;
    this.#resources = resources;
    this.#tip = sequencer.head;
    this.#nonce = parts.tokens.length + 1;
  }

  /** A chain of one block, which makes the contracts. */
  static async start(tokenCount: number): Promise<FlashblockChain> {
    const { Token: token, Wide: wide } = { ...compileSolidity(tokenSource), ...compileSolidity(wideSource) };
    if (token === undefined || wide === undefined) throw new Error('solc left a contract out');
    await using starting = new AsyncDisposableStack();
    const startNode = async (archive: boolean): Promise<OpGeth> =>
      starting.use(await startOpGeth({ archive }));
    // Building moves the head of whoever builds: the upstream is another node.
    const [upstream, oracle] = await Promise.all([startNode(false), startNode(true)]);
    const sequencer = await OpSequencer.on(upstream, oracle, true);
    const codes = [...Array.from({ length: tokenCount }, () => token.code), wide.code];
    const addresses = codes.map((_, nonce) =>
      getContractAddress({ from: opFunder.address, nonce: BigInt(nonce) }),
    );
    const transactions = await Promise.all(codes.map((data, nonce) => sign({ data, nonce })));
    await sequencer.seal({ transactions, gasLimit });
    const server = starting.use(await startFlashblockServer());
    const parts = {
      ...{ tokens: addresses.slice(0, -1), tokenAbi: token.abi },
      ...{ wide: addresses.at(-1) as Hex, wideAbi: wide.abi },
    };
    return new FlashblockChain(parts, upstream, sequencer, server, starting.move());
  }

  get ours(): FollowingNode {
    if (this.#ours === undefined) throw new Error('our node was not started');
    return this.#ours;
  }

  /** The nonce of the sender of everything, after what is built so far. */
  get nonce(): number {
    return this.#nonce;
  }

  /** Starts our node at the head of the chain. */
  async follow(): Promise<void> {
    this.#ours = await this.#startNode(this.#server);
  }

  /** Starts another node, whose stream only has what is published to it by hand. */
  async followApart(): Promise<{ readonly node: FollowingNode; readonly server: FlashblockServer }> {
    const server = this.#resources.use(await startFlashblockServer());
    return { node: await this.#startNode(server), server };
  }

  transfer(to: Hex, token = this.tokens[0] as Hex): Promise<Hex> {
    return this.#send(
      token,
      encodeFunctionData({ abi: this.tokenAbi, functionName: 'transfer', args: [to, 1n] }),
    );
  }

  write(from: number, count: number, value: number): Promise<Hex> {
    const args = [from, count, value].map(BigInt);
    return this.#send(this.wide, encodeFunctionData({ abi: this.wideAbi, functionName: 'write', args }));
  }

  /** Builds the next block: index 0, and a flashblock of each part. */
  async build(parts: readonly (readonly Hex[])[]): Promise<ReadyBlock> {
    const flashblocks: BuiltFlashblock[] = [];
    for await (const built of this.#builder.build(this.#tip, { parts, gasLimit })) flashblocks.push(built);
    const payload = flashblocks.at(-1)?.payload;
    if (payload === undefined) throw new Error('a block has at least one flashblock');
    const { blockHash: hash, blockNumber, timestamp } = payload;
    this.#tip = { hash, number: Number(blockNumber), timestamp: Number(timestamp) };
    return { ref: this.#tip, flashblocks };
  }

  /**
   * Publishes blocks at a builder's pace. As on a real chain, a block is sealed when the next has begun; the flashblock
   * after that is published as soon as the upstream has the sealed block, while our node makes it its head.
   */
  async replay(blocks: readonly ReadyBlock[], events: ReplayEvents): Promise<void> {
    for (const { ref, flashblocks } of blocks) {
      for (const flashblock of flashblocks) {
        await events.before?.(flashblock);
        const { index } = flashblock.message;
        const seals = index === 1 && this.#unsealed !== undefined;
        if (seals) await this.#seal(events);
        // Somewhere in the time that our node needs to hear of the block, to ask for it and to write it.
        const wait = seals ? (ref.number * 7) % 40 : this.#publishedAt + FLASHBLOCK_MS - now();
        if (wait > 0) await pause(wait);
        // Before, not after: on a busy machine the answer may be there before we are told that all is written.
        this.#publishedAt = now();
        this.#server.publish(flashblock.message);
        await events.published?.(flashblock, this.#publishedAt);
      }
      if (this.#unsealed !== undefined) await this.#seal(events);
      this.#unsealed = ref;
    }
  }

  /** Seals what was published last, and waits until it is our node's head. */
  async settle(): Promise<void> {
    await this.#seal({});
    await untilHead(this.ours, this.#sequencer.head.hash);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }

  async #startNode(server: FlashblockServer): Promise<FollowingNode> {
    const data = this.#resources.use(await tempDir('preconfirmed-bench'));
    const node = this.#resources.use(
      await follow({
        dataDir: join(data.path, 'data'),
        upstreams: [this.#upstream.ws],
        rules: this.#upstream.genesisFile,
        more: ['--flashblocks', server.url, ...patient],
      }),
    );
    await untilHead(node, this.#sequencer.head.hash);
    await until('our node to listen to the stream', () => (server.connected > 0 ? true : undefined));
    return node;
  }

  async #seal(events: ReplayEvents): Promise<void> {
    const ref = this.#unsealed;
    if (ref === undefined) return;
    this.#unsealed = undefined;
    await this.#sequencer.makeCanonical(ref.hash);
    await events.sealed?.(ref, now());
  }

  #send(to: Hex, data: Hex): Promise<Hex> {
    return sign({ to, data, nonce: this.#nonce++ });
  }
}

function sign(transaction: { readonly to?: Hex; readonly data: Hex; readonly nonce: number }): Promise<Hex> {
  return opFunder.signTransaction({
    chainId: opChainId,
    type: 'eip1559',
    gas: transaction.to === undefined ? 3_000_000n : 12_000_000n,
    maxFeePerGas: 20_000_000_000n,
    maxPriorityFeePerGas: 1n,
    ...transaction,
  });
}
