import type { Hex } from '../../primitives/hex.ts';
import type { Turns } from '../../primitives/turns.ts';
import { type BlockSoFar, type OpenBlock, timestampAfter } from '../chain.ts';
import { l1AttributesDeposit } from './l1-attributes.ts';
import { ask, askAll, askEach } from './rpc.ts';

/** A block as JSON-RPC shows it; its transactions are hashes. */
interface RpcBlock extends Omit<BlockSoFar, 'feeRecipient' | 'prevRandao' | 'blockNumber' | 'blockHash'> {
  readonly miner: Hex;
  readonly mixHash: Hex;
  readonly number: Hex;
  readonly hash: Hex;
}

interface PooledTransaction {
  readonly hash: Hex;
  readonly from: Hex;
  readonly nonce: Hex;
}

type BySender = Readonly<Record<string, Readonly<Record<string, PooledTransaction>>>>;

/** A transaction that was in the pool, encoded. */
interface Known extends PooledTransaction {
  readonly encoded: Hex;
}

/** anvil works on the calls of a larger batch in any order. */
const ORDERED_BATCH = 25;

/** A block that anvil mines over and over on one head, each time with what its pool has got by then. */
export class MinedBlock implements OpenBlock {
  readonly #anvil: string;
  readonly #turns: Turns;
  readonly #timestamp: number;
  readonly #deposit: Hex;
  readonly #known = new Map<Hex, Known>();
  #chosen: readonly Known[] = [];
  /** Of the first one, and so of all. */
  #baseFee: Hex | undefined;

  private constructor(anvil: string, turns: Turns, head: RpcBlock) {
    this.#anvil = anvil;
    this.#turns = turns;
    this.#timestamp = timestampAfter(Number(head.timestamp));
    this.#deposit = l1AttributesDeposit(Number(head.number) + 1, this.#timestamp);
  }

  static async open(anvil: string, turns: Turns): Promise<MinedBlock> {
    return new MinedBlock(anvil, turns, await latest(anvil));
  }

  extend(): Promise<BlockSoFar> {
    return this.#turns.take(async () => {
      const snapshot = await ask<Hex>(this.#anvil, ['evm_snapshot']);
      const block = await this.#mine();
      const isBack = await ask<boolean>(this.#anvil, ['evm_revert', snapshot]);
      if (!isBack) throw new Error('anvil does not take a block back');
      // Back into the pool, for those who ask for them there.
      await this.#send(this.#chosen);
      return block;
    });
  }

  seal(): Promise<BlockSoFar> {
    return this.#turns.take(() => this.#mine());
  }

  async #mine(): Promise<BlockSoFar> {
    await this.#fillPool();
    await ask(this.#anvil, ['evm_setNextBlockTimestamp', this.#timestamp]);
    // A block that is taken back leaves the base fee of its successor behind.
    if (this.#baseFee !== undefined) {
      await ask(this.#anvil, ['anvil_setNextBlockBaseFeePerGas', this.#baseFee]);
    }
    await ask(this.#anvil, ['evm_mine']);
    const { miner, mixHash, number, hash, ...block } = await latest(this.#anvil);
    this.#baseFee = block.baseFeePerGas;
    this.#chosen = block.transactions.flatMap((mined) => this.#known.get(mined) ?? []);
    // anvil cannot encode a deposit; ours is the only one, and the first.
    const transactions = [this.#deposit, ...this.#chosen.map(({ encoded }) => encoded)];
    if (block.transactions.length !== transactions.length) throw new Error('anvil mined what nobody sent');
    return {
      ...block,
      ...{ feeRecipient: miner, prevRandao: mixHash, blockNumber: number, blockHash: hash, transactions },
    };
  }

  /** Puts the pool into the order of the block: the deposit, what is chosen, what came since. */
  async #fillPool(): Promise<void> {
    const pool = await this.#readPool();
    const isChosen = new Set(this.#chosen.map(slotOf));
    // What is pre-confirmed is not replaced, whatever is offered.
    const others = pool.filter((transaction) => !isChosen.has(slotOf(transaction)));
    await ask(this.#anvil, ['anvil_dropAllTransactions']);
    await ask(this.#anvil, ['eth_sendRawTransaction', this.#deposit]);
    await this.#send(this.#chosen);
    await this.#send(others);
  }

  /** One that the head has overtaken is not taken again, and gone. */
  async #send(transactions: readonly Known[]): Promise<void> {
    for (let at = 0; at < transactions.length; at += ORDERED_BATCH) {
      const batch = transactions.slice(at, at + ORDERED_BATCH);
      await askEach(
        this.#anvil,
        batch.map(({ encoded }) => ['eth_sendRawTransaction', encoded]),
      );
    }
  }

  async #readPool(): Promise<readonly Known[]> {
    const content = await ask<{ readonly pending: BySender; readonly queued: BySender }>(this.#anvil, [
      'txpool_content',
    ]);
    const all = [content.pending, content.queued].flatMap((part) => Object.values(part).flatMap(inOrder));
    const unknown = all.filter(({ hash }) => !this.#known.has(hash));
    const encoded = await askAll<Hex>(
      this.#anvil,
      unknown.map(({ hash }) => ['eth_getRawTransactionByHash', hash]),
    );
    for (const [index, { hash, from, nonce }] of unknown.entries()) {
      this.#known.set(hash, { hash, from, nonce, encoded: encoded[index] as Hex });
    }
    return all.flatMap(({ hash }) => this.#known.get(hash) ?? []);
  }
}

function latest(anvil: string): Promise<RpcBlock> {
  return ask(anvil, ['eth_getBlockByNumber', 'latest', false]);
}

function inOrder(byNonce: BySender[string]): readonly PooledTransaction[] {
  return Object.values(byNonce).sort((one, other) => Number(one.nonce) - Number(other.nonce));
}

/** Only one transaction can have a sender's nonce. */
function slotOf({ from, nonce }: PooledTransaction): string {
  return `${from} ${nonce}`;
}
