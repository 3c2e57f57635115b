import { randomBytes } from 'node:crypto';
import { type Hex, toHex } from '../../primitives/hex.ts';
import { type BlockSoFar, type OpenBlock, timestampAfter } from '../chain.ts';
import { FEE_RECIPIENT, GAS_LIMIT } from './genesis.ts';
import { l1AttributesDeposit } from './l1-attributes.ts';
import { choose, type PooledTransaction, type TxPool } from './pool.ts';
import { ask, askAll, RefusedError } from './rpc.ts';

/** A payload as the Engine API gives it. */
type Payload = Omit<BlockSoFar, 'parentBeaconBlockRoot' | 'withdrawalsRoot'> & {
  readonly withdrawalsRoot?: Hex;
};

/** Calls the Engine API: what a consensus client does. */
export type Engine = <T>(method: string, ...params: readonly unknown[]) => Promise<T>;

export interface SealedHead {
  readonly hash: Hex;
  readonly number: number;
  readonly timestamp: number;
}

const NO_WITHDRAWALS: Hex = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421';
const ZERO_HASH: Hex = `0x${'00'.repeat(32)}`;
const L1_ATTRIBUTES_GAS = 1_000_000n;

interface Building {
  readonly url: string;
  readonly engine: Engine;
  readonly parent: SealedHead;
  onHead(head: SealedHead): void;
}

/** A block built on one parent over and over, each time with more transactions. */
export class EngineBlock implements OpenBlock {
  readonly #building: Building;
  readonly #timestamp: number;
  readonly #prevRandao = toHex(randomBytes(32));
  readonly #chosen = new Map<Hex, Hex>();
  /** Refused by op-geth in this block. */
  readonly #refused = new Set<Hex>();
  #gas = 0n;
  #payload: BlockSoFar | undefined;

  constructor(building: Building) {
    this.#building = building;
    this.#timestamp = timestampAfter(building.parent.timestamp);
  }

  async extend(): Promise<BlockSoFar> {
    const { url } = this.#building;
    // The base fee, which transactions must pay, is known from the empty block.
    const before = this.#payload ?? (await this.#build([]));
    this.#payload = before;
    const pool = await ask<TxPool>(url, ['txpool_content']);
    const picked = choose(pool, {
      baseFee: BigInt(before.baseFeePerGas),
      gas: BigInt(GAS_LIMIT) - L1_ATTRIBUTES_GAS - this.#gas,
      isKnown: (hash) => this.#chosen.has(hash),
      isRefused: (hash) => this.#refused.has(hash),
    });
    if (picked.length > 0) await this.#take(picked);
    return this.#payload;
  }

  async seal(): Promise<BlockSoFar> {
    const { engine, parent, onHead } = this.#building;
    const block = await this.extend();
    const { parentBeaconBlockRoot, ...payload } = block;
    const { status } = await engine<{ readonly status: string }>(
      'engine_newPayloadV4',
      payload,
      [],
      parentBeaconBlockRoot,
      [],
    );
    if (status !== 'VALID') throw new Error(`op-geth refuses the block it built: ${status}`);
    await engine(
      'engine_forkchoiceUpdatedV3',
      { headBlockHash: block.blockHash, safeBlockHash: parent.hash, finalizedBlockHash: parent.hash },
      null,
    );
    onHead({ hash: block.blockHash, number: parent.number + 1, timestamp: this.#timestamp });
    return block;
  }

  /** Takes all of them at once, or one by one if op-geth refuses one. */
  async #take(picked: readonly PooledTransaction[]): Promise<void> {
    const raw = await askAll<Hex | null>(
      this.#building.url,
      picked.map(({ hash }) => ['eth_getRawTransactionByHash', hash]),
    );
    const found = picked.flatMap((transaction, index) => {
      const encoded = raw[index];
      // Replaced or dropped since.
      return encoded === null || encoded === undefined ? [] : [{ ...transaction, encoded }];
    });
    if (await this.#tryAdding(found)) return;
    for (const one of found) {
      if (!(await this.#tryAdding([one]))) this.#refused.add(one.hash);
    }
  }

  async #tryAdding(added: readonly (PooledTransaction & { readonly encoded: Hex })[]): Promise<boolean> {
    let payload: BlockSoFar;
    try {
      payload = await this.#build(added.map(({ encoded }) => encoded));
    } catch (error) {
      if (error instanceof RefusedError) return false;
      throw error;
    }
    this.#payload = payload;
    for (const { hash, encoded, gas } of added) {
      this.#chosen.set(hash, encoded);
      this.#gas += BigInt(gas);
    }
    return true;
  }

  async #build(added: readonly Hex[]): Promise<BlockSoFar> {
    const { engine, parent } = this.#building;
    const started = await engine<{ readonly payloadId: Hex | null }>(
      'engine_forkchoiceUpdatedV3',
      { headBlockHash: parent.hash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH },
      {
        timestamp: `0x${this.#timestamp.toString(16)}`,
        prevRandao: this.#prevRandao,
        suggestedFeeRecipient: FEE_RECIPIENT,
        withdrawals: [],
        parentBeaconBlockRoot: parent.hash,
        transactions: [
          l1AttributesDeposit(parent.number + 1, this.#timestamp),
          ...this.#chosen.values(),
          ...added,
        ],
        // Ours to choose: asked the same question twice, op-geth gives the same block, whatever its pool got since.
        noTxPool: true,
        gasLimit: GAS_LIMIT,
        eip1559Params: '0x000000fa00000006',
        minBaseFee: 0,
      },
    );
    if (started.payloadId === null) throw new RefusedError('op-geth builds no such block');
    const { executionPayload } = await engine<{ readonly executionPayload: Payload }>(
      'engine_getPayloadV4',
      started.payloadId,
    );
    return {
      ...executionPayload,
      // Left out while nothing was ever withdrawn.
      withdrawalsRoot: executionPayload.withdrawalsRoot ?? NO_WITHDRAWALS,
      parentBeaconBlockRoot: parent.hash,
    };
  }
}
