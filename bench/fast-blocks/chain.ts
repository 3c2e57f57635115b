import { type Abi, encodeFunctionData, getContractAddress, type Hex, keccak256, pad, toHex } from 'viem';
import { opChainId, opFunder } from '../../test/support/servers/op-genesis.ts';
import { type OpGeth, startOpGeth } from '../../test/support/servers/op-geth.ts';
import { OpSequencer, type SequencedBlock } from '../../test/support/servers/op-sequencer.ts';
import { compileSolidity } from '../../test/support/workload/solidity.ts';
import { tokenSource } from '../../test/support/workload/token.ts';
import { holder } from '../live-chain.ts';

/** Those who are paid, in turn. */
export const holders = 200;
const gasLimit = 1_000_000_000n;

/** A block that is built and that the upstream does not know yet. */
export interface BuiltBlock {
  readonly ref: SequencedBlock;
  /** Who is paid last, and what they have then, as a word. */
  readonly last: { readonly to: Hex; readonly balance: Hex; readonly transaction: Hex };
}

/** An OP chain whose blocks are built beforehand on a node of its own: the upstream only executes them, at a fixed pace. */
export class FastChain implements AsyncDisposable {
  readonly tokens: readonly Hex[] = [getContractAddress({ from: opFunder.address, nonce: 0n })];
  readonly tokenAbi: Abi;
  readonly upstream: OpGeth;
  readonly #sequencer: OpSequencer;
  readonly #resources: AsyncDisposableStack;
  readonly #balances = new Map<Hex, bigint>();
  #tip: SequencedBlock;
  #nonce = 0;
  #payments = 0;

  private constructor(abi: Abi, upstream: OpGeth, sequencer: OpSequencer, resources: AsyncDisposableStack) {
    this.tokenAbi = abi;
    this.upstream = upstream;
    this.#sequencer = sequencer;
    this.#resources = resources;
    this.#tip = sequencer.head;
  }

  /** A chain of one block, which makes the token. */
  static async start(): Promise<FastChain> {
    const { Token: token } = compileSolidity(tokenSource);
    if (token === undefined) throw new Error('solc left the token out');
    await using starting = new AsyncDisposableStack();
    const startNode = async (archive: boolean): Promise<OpGeth> =>
      starting.use(await startOpGeth({ archive }));
    const [upstream, builder] = await Promise.all([startNode(false), startNode(true)]);
    const sequencer = await OpSequencer.on(upstream, builder, true);
    const chain = new FastChain(token.abi, upstream, sequencer, starting.move());
    await chain.#build([await chain.#sign({ data: token.code })]);
    await chain.release(chain.#tip);
    return chain;
  }

  get head(): SequencedBlock {
    return this.#sequencer.head;
  }

  /** The next block: so many payments to the holders in turn. */
  async build(transactions: number): Promise<BuiltBlock> {
    const signed: Hex[] = [];
    let last: Hex = '0x';
    for (let left = transactions; left > 0; left -= 1) {
      last = holder(this.#payments++ % holders);
      const data = encodeFunctionData({ abi: this.tokenAbi, functionName: 'transfer', args: [last, 1n] });
      signed.push(await this.#sign({ to: this.tokens[0] as Hex, data }));
      this.#balances.set(last, (this.#balances.get(last) ?? 0n) + 1n);
    }
    const ref = await this.#build(signed);
    const balance = pad(toHex(this.#balances.get(last) ?? 0n));
    return { ref, last: { to: last, balance, transaction: keccak256(signed.at(-1) ?? '0x') } };
  }

  /** Makes a block the upstream's head. */
  async release({ hash }: SequencedBlock): Promise<void> {
    await this.#sequencer.makeCanonical(hash);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }

  async #build(transactions: readonly Hex[]): Promise<SequencedBlock> {
    const payload = await this.#sequencer.build(this.#tip, { transactions, gasLimit });
    this.#tip = await this.#sequencer.insert(payload);
    return this.#tip;
  }

  #sign(transaction: { readonly to?: Hex; readonly data: Hex }): Promise<Hex> {
    return opFunder.signTransaction({
      chainId: opChainId,
      type: 'eip1559',
      gas: transaction.to === undefined ? 3_000_000n : 100_000n,
      maxFeePerGas: 20_000_000_000n,
      maxPriorityFeePerGas: 1n,
      nonce: this.#nonce++,
      ...transaction,
    });
  }
}
