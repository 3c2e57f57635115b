import { type Abi, encodeFunctionData, getContractAddress, type Hex, keccak256, toHex } from 'viem';
import { opChainId, opFunder } from '../test/support/servers/op-genesis.ts';
import { type OpGeth, type OpGethOptions, startOpGeth } from '../test/support/servers/op-geth.ts';
import { OpSequencer, type SequencedBlock } from '../test/support/servers/op-sequencer.ts';
import { compileSolidity } from '../test/support/workload/solidity.ts';
import { tokenSource } from '../test/support/workload/token.ts';

/** What a block has: calls of `many`, each of which writes so many slots, token transfers, and calls that only compute. */
export interface BlockShape {
  readonly calls: number;
  readonly transfers: number;
  readonly spins?: number;
}

/** Hashes of a call that computes: about 2.5 Mgas. */
const hashesPerSpin = 10_000;

const writesPerCall = 100;
/** What transactions may use counts, not what they do. */
const gasLimit = 2_000_000_000n;
const busy: BlockShape = { calls: 4, transfers: 8 };

/** An OP chain of busy blocks on an ordinary node, one that keeps only the last states. */
export class BusyChain implements AsyncDisposable {
  readonly node: OpGeth;
  readonly abi: Abi;
  readonly token: Hex = getContractAddress({ from: opFunder.address, nonce: 0n });
  private readonly sequencer: OpSequencer;
  private nonce = 0;
  private salt = 0;

  private constructor(node: OpGeth, sequencer: OpSequencer, abi: Abi) {
    this.node = node;
    this.sequencer = sequencer;
    this.abi = abi;
  }

  /** Block 1 makes the token. */
  static async start(options: OpGethOptions = {}): Promise<BusyChain> {
    const token = compileSolidity(tokenSource)['Token'];
    if (token === undefined) throw new Error('solc left the token out');
    const node = await startOpGeth(options);
    try {
      const chain = new BusyChain(node, await OpSequencer.on(node), token.abi);
      await chain.sequencer.seal({ transactions: [await chain.sign({ data: token.code })] });
      return chain;
    } catch (error) {
      await node.stop();
      throw error;
    }
  }

  get head(): SequencedBlock {
    return this.sequencer.head;
  }

  /** Blocks that write slots nobody has written before, or the same ones again and again. */
  async grow(
    blocks: number,
    slots: 'fresh' | 'known',
    { calls, transfers, spins = 0 } = busy,
  ): Promise<void> {
    for (let left = blocks; left > 0; left -= 1) {
      const transactions: Hex[] = [];
      for (let index = 0; index < calls; index += 1) {
        const salt = slots === 'fresh' ? this.salt++ : index;
        transactions.push(await this.call('many', [BigInt(writesPerCall), BigInt(salt)]));
      }
      for (let index = 0; index < transfers; index += 1) {
        transactions.push(await this.call('transfer', [holder(index), 1n]));
      }
      for (let index = 0; index < spins; index += 1) {
        transactions.push(await this.call('spin', [BigInt(hashesPerSpin)]));
      }
      await this.sequencer.seal({ transactions, gasLimit });
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.node.stop();
  }

  private call(functionName: string, args: readonly unknown[]): Promise<Hex> {
    return this.sign({ to: this.token, data: encodeFunctionData({ abi: this.abi, functionName, args }) });
  }

  private sign(transaction: { to?: Hex; data: Hex }): Promise<Hex> {
    const nonce = this.nonce++;
    return opFunder.signTransaction({
      chainId: opChainId,
      type: 'eip1559',
      gas: 4_000_000n,
      maxFeePerGas: 20_000_000_000n,
      maxPriorityFeePerGas: 1n,
      nonce,
      ...transaction,
    });
  }
}

/** Somebody who may have tokens. */
export function holder(index: number): Hex {
  return keccak256(toHex(`holder ${index}`)).slice(0, 42) as Hex;
}
