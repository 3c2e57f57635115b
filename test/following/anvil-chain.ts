import type { Hex } from 'viem';
import { type Anvil, startAnvil } from '../support/servers/anvil.ts';
import { request } from '../support/servers/rpc-client.ts';

export interface AnvilBlock {
  readonly number: number;
  readonly hash: Hex;
}

interface JsonBlock {
  readonly number: Hex;
  readonly hash: Hex;
}

export const anvilChainId = 31_337;
const hex = (number: number): Hex => `0x${number.toString(16)}`;

/** An anvil whose blocks follow from what it was told: two that were told the same have the same chain. */
export class AnvilChain implements AsyncDisposable {
  private readonly anvil: Anvil;
  /** Every block that it ever had as its head, or below one. */
  readonly known = new Map<Hex, number>();

  private constructor(anvil: Anvil) {
    this.anvil = anvil;
  }

  /** `epoch` blocks are safe, twice as many final. */
  static async start(epoch = 32, chainId = anvilChainId): Promise<AnvilChain> {
    const anvil = await startAnvil([
      ...['--no-mining', '--timestamp', '1700000000'],
      ...['--slots-in-an-epoch', String(epoch), '--chain-id', String(chainId)],
    ]);
    await request(anvil.url, 'anvil_setBlockTimestampInterval', [1]);
    return new AnvilChain(anvil);
  }

  get url(): string {
    return this.anvil.url;
  }

  /** Empty blocks. */
  async mine(blocks: number): Promise<AnvilBlock> {
    await request(this.url, 'anvil_mine', [hex(blocks)]);
    return this.remember(blocks);
  }

  /** A block that reads an account that nobody has heard of. */
  async mineTransfer(): Promise<AnvilBlock> {
    const [from] = await request<readonly Hex[]>(this.url, 'eth_accounts');
    const to = hex(this.known.size + 1)
      .slice(2)
      .padStart(40, '5');
    await request(this.url, 'eth_sendTransaction', [{ from, to: `0x${to}`, value: '0x1', gas: '0x5208' }]);
    await request(this.url, 'evm_mine');
    return this.remember(1);
  }

  /** From here on its blocks are others than those of anybody who was told the same. */
  async fork(name: number): Promise<void> {
    await request(this.url, 'anvil_setCoinbase', [`0x${hex(name).slice(2).padStart(40, 'f')}`]);
  }

  snapshot(): Promise<Hex> {
    return request(this.url, 'evm_snapshot');
  }

  /** Goes back, without a new block. */
  async revert(snapshot: Hex): Promise<AnvilBlock> {
    await request(this.url, 'evm_revert', [snapshot]);
    return this.head();
  }

  /** Puts as many other blocks in the place of the last ones. */
  async reorg(depth: number): Promise<AnvilBlock> {
    await request(this.url, 'anvil_reorg', [depth, []]);
    return this.remember(depth);
  }

  head(): Promise<AnvilBlock> {
    return this.block('latest');
  }

  async block(block: string): Promise<AnvilBlock> {
    const { number, hash } = await request<JsonBlock>(this.url, 'eth_getBlockByNumber', [block, false]);
    return { number: Number(number), hash };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.anvil.stop();
  }

  private async remember(blocks: number): Promise<AnvilBlock> {
    const head = await this.head();
    for (let number = head.number - blocks + 1; number <= head.number; number += 1) {
      const { hash } = await this.block(hex(number));
      this.known.set(hash, number);
    }
    return head;
  }
}
