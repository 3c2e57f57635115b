import { encodeFunctionData, getContractAddress, type Hex, pad, parseAbi } from 'viem';
import { opChainId, opFunder } from '../../support/servers/op-genesis.ts';
import { type OpGeth, startOpGeth } from '../../support/servers/op-geth.ts';
import { OpSequencer, type SequencedBlock } from '../../support/servers/op-sequencer.ts';
import { request } from '../../support/servers/rpc-client.ts';
import { compileSolidity } from '../../support/workload/solidity.ts';
import { tokenSource } from '../../support/workload/token.ts';

const abi = parseAbi(['function transfer(address to, uint256 value) returns (bool)']);
const token = compileSolidity(tokenSource)['Token'] ?? { code: '0x' };
const paying = (nonce: number) => ({
  ...{ chainId: opChainId, type: 'eip1559' as const, nonce, gas: 2_000_000n },
  ...{ maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n },
});

/** op-geth with a token, which grows and is reorganised when it is told to. */
export class TokenChain implements AsyncDisposable {
  readonly node: OpGeth;
  readonly token: Hex;
  readonly #sequencer: OpSequencer;
  /** So that no transfer is like another, on whatever branch. */
  #transfers = 0;

  private constructor(node: OpGeth, sequencer: OpSequencer) {
    this.node = node;
    this.#sequencer = sequencer;
    this.token = getContractAddress({ from: opFunder.address, nonce: 0n });
  }

  static async start(): Promise<TokenChain> {
    await using starting = new AsyncDisposableStack();
    const node = starting.use(await startOpGeth());
    const chain = new TokenChain(node, await OpSequencer.on(node));
    starting.move();
    return chain;
  }

  get head(): SequencedBlock {
    return this.#sequencer.head;
  }

  /** Blocks with transfers on top. */
  async grow(blocks: number): Promise<void> {
    for (let left = blocks; left > 0; left -= 1)
      await this.#sequencer.seal({ transactions: await this.#block(this.head) });
  }

  /** Puts other blocks, with other transfers, in the place of the last ones, and one more on top. */
  async reorg(depth: number): Promise<void> {
    await this.#sequencer.reorg(depth, async (_, parent) => ({ transactions: await this.#block(parent) }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node.stop();
  }

  /** None to three transfers, for a block on top of the given one; the first makes the token. */
  async #block({ hash, number }: SequencedBlock): Promise<readonly Hex[]> {
    if (number === 0) return [await opFunder.signTransaction({ ...paying(0), data: token.code })];
    const at = { blockHash: hash };
    const nonce = Number(
      await request<Hex>(this.node.url, 'eth_getTransactionCount', [opFunder.address, at]),
    );
    const transfers = Array.from({ length: number % 4 }, (_, index) => this.#transfer(nonce + index));
    return Promise.all(transfers);
  }

  async #transfer(nonce: number): Promise<Hex> {
    this.#transfers += 1;
    const to = pad(`0x${(1 + (this.#transfers % 5)).toString(16)}`, { size: 20 });
    const data = encodeFunctionData({ abi, functionName: 'transfer', args: [to, BigInt(this.#transfers)] });
    return opFunder.signTransaction({ ...paying(nonce), to: this.token, data });
  }
}
