import type { Hex } from 'viem';
import { opChainId, opFunder } from '../support/servers/op-genesis.ts';
import { type OpGeth, type OpGethOptions, startOpGeth } from '../support/servers/op-geth.ts';
import { OpSequencer, type SequencedBlock } from '../support/servers/op-sequencer.ts';
import { request, sendBatch } from '../support/servers/rpc-client.ts';
import { Workload } from '../support/workload/workload.ts';

interface Seen {
  readonly number: number;
  readonly parent: Hex | undefined;
}

/** An OP chain under a workload, that remembers every block of every fork. */
export class LiveChain implements AsyncDisposable {
  readonly node: OpGeth;
  readonly workload: Workload;
  private readonly sequencer: OpSequencer;
  private readonly seen = new Map<string, Seen>();
  /** While a branch grows, its tip is not what the node calls latest. */
  private tip: unknown = 'latest';

  private constructor(node: OpGeth, sequencer: OpSequencer, seed: number) {
    this.node = node;
    this.sequencer = sequencer;
    const traits = { chainId: opChainId, funder: opFunder, blobs: false, requests: false };
    this.workload = new Workload(
      seed,
      { ...traits, deposits: true, unprotected: true },
      async (addresses) => {
        const { tip } = this;
        const calls = addresses.map((address) => ({
          method: 'eth_getTransactionCount',
          params: [address, tip],
        }));
        const answers = await sendBatch(node.url, calls);
        return answers.map((answer) => {
          if ('error' in answer) throw new Error(`no nonce: ${answer.error.message}`);
          return Number(answer.result);
        });
      },
    );
    this.remember(sequencer.head, undefined);
  }

  /** A chain with its contracts deployed, and some blocks on top. */
  static async start(seed: number, blocks: number, options: OpGethOptions = {}): Promise<LiveChain> {
    const node = await startOpGeth(options);
    try {
      const chain = new LiveChain(node, await OpSequencer.on(node), seed);
      for await (const block of chain.workload.setup()) await chain.seal(block);
      await chain.grow(blocks);
      return chain;
    } catch (error) {
      await node.stop();
      throw error;
    }
  }

  get head(): SequencedBlock {
    return this.sequencer.head;
  }

  at(number: number): SequencedBlock {
    return this.sequencer.at(number);
  }

  async grow(blocks: number): Promise<void> {
    for (let left = blocks; left > 0; left -= 1) await this.seal(await this.workload.next());
  }

  /** A block without anything but the deposit that every block has. */
  async growEmpty(blocks: number): Promise<void> {
    for (let left = blocks; left > 0; left -= 1) await this.seal({});
  }

  /** Takes `depth` blocks back and puts others in their place, and one more. */
  async reorg(depth: number, length = depth + 1): Promise<void> {
    const fork = this.at(this.head.number - depth);
    let last: SequencedBlock = fork;
    try {
      const branch = await this.sequencer.reorg(
        depth,
        (_, parent) => {
          this.tip = { blockHash: parent.hash };
          if (parent !== fork) this.remember(parent, last.hash);
          last = parent;
          return this.workload.next();
        },
        length,
      );
      const tip = branch.at(-1);
      if (tip !== undefined) this.remember(tip, last.hash);
    } finally {
      this.tip = 'latest';
    }
  }

  async seal(block: Parameters<OpSequencer['seal']>[0]): Promise<SequencedBlock> {
    const parent = this.head;
    const sealed = await this.sequencer.seal(block);
    this.remember(sealed, parent.hash);
    await this.observe(sealed.hash);
    if (sealed.number % 4 === 0) await this.sequencer.setSafe(Math.max(0, sealed.number - 40));
    return sealed;
  }

  /** The ancestor of a block that has this number; undefined when it is above, or nobody ever made that block. */
  ancestor(of: string, number: number): string | undefined {
    let at: string | undefined = of;
    for (let block = this.seen.get(of); block !== undefined; block = this.seen.get(at ?? '')) {
      if (block.number === number) return at;
      if (block.number < number) return undefined;
      at = block.parent;
    }
    return undefined;
  }

  /** Whether this is a block of any fork. */
  knows(hash: string): boolean {
    return this.seen.has(hash);
  }

  numberOf(hash: string): number {
    return this.seen.get(hash)?.number ?? -1;
  }

  hashes(): readonly string[] {
    return [...this.seen.keys()];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.node.stop();
  }

  private remember({ hash, number }: SequencedBlock, parent: Hex | undefined): void {
    this.seen.set(hash, { number, parent });
  }

  private async observe(hash: Hex): Promise<void> {
    const { url } = this.node;
    const [block, receipts] = await Promise.all([
      request<{ transactions: never[] }>(url, 'eth_getBlockByHash', [hash, true]),
      request<never[]>(url, 'eth_getBlockReceipts', [hash]),
    ]);
    this.workload.catalogue.observe(block.transactions, receipts);
  }
}
