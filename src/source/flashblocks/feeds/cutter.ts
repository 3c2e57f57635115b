import { createHash } from 'node:crypto';
import { type Hex, toHex } from '../../../primitives/hex.ts';
import { toQuantity } from '../../../primitives/parse.ts';
import type { Flashblock, FlashblockBase } from '../flashblock.ts';
import type { TransactionJson, WholeBlock } from './whole-block.ts';

/** The bytes of transactions, in order, each checked by its hash; throws where one does not fit. */
export type EncodeTransactions = (transactions: readonly TransactionJson[]) => readonly Uint8Array[];

/** What came last, and as what it was passed on. */
interface Last {
  readonly payloadId: Hex;
  readonly index: number;
  readonly block: WholeBlock;
  readonly at: number;
  /** What its source calls it, where it says so. */
  readonly toldId: string | undefined;
}

const PAYLOAD_ID_BYTES = 8;
/** A source that counts further than this is not followed there: no block has as many flashblocks at once. */
const MOST_EMPTY = 64;

/**
 * Cuts whole blocks, as one source shows them again and again, into flashblocks. A block is what it is by its number, its
 * parent and the rest of its base, and by the transactions it began with: each growth is the next index, and what does
 * not go on from there begins again at index 0, with a payload id of its own. A source that says which flashblock a block is
 * of is followed in that, so that both number them alike.
 */
export class WholeBlockCutter {
  readonly #name: string;
  readonly #encode: EncodeTransactions;
  readonly #staleMs: number;
  #last: Last | undefined;
  #attempts = 0;

  /** A source may go back to a lower block only after this time: behind a balancer some servers are late. */
  constructor(name: string, encode: EncodeTransactions, staleMs: number) {
    this.#name = name;
    this.#encode = encode;
    this.#staleMs = staleMs;
  }

  /** The next flashblock; nothing where all of it was there before. Throws where a transaction is not what it says. */
  cut(block: WholeBlock, at: number, toldId?: string): Flashblock | undefined {
    const last = this.#last;
    if (last !== undefined && block.number < last.block.number && at - last.at < this.#staleMs)
      return undefined;
    const isSame = last !== undefined && last.toldId === toldId && isSameBase(last.block, block);
    if (isSame && isPrefix(block.hashes, last.block.hashes)) {
      this.#last = { ...last, at };
      return undefined;
    }
    const before = isSame && isPrefix(last.block.hashes, block.hashes) ? last : undefined;
    const known = before?.block.hashes.length ?? 0;
    const transactions = this.#encode(block.transactions.slice(known));
    const payloadId = before?.payloadId ?? this.#newPayloadId(block);
    const index = before === undefined ? 0 : before.index + 1;
    this.#last = { payloadId, index, block, at, toldId };
    return flashblockOf(block, { payloadId, index, transactions });
  }

  /** Flashblocks without transactions that make the last one number `index`; none where it is that, or further. */
  upTo(index: number): readonly Flashblock[] {
    const last = this.#last;
    if (last === undefined || index - last.index > MOST_EMPTY) return [];
    const indexes = Array.from({ length: Math.max(0, index - last.index) }, (_, at) => last.index + 1 + at);
    this.#last = { ...last, index: Math.max(index, last.index) };
    const { block, payloadId } = last;
    return indexes.map((next) => flashblockOf(block, { payloadId, index: next, transactions: [] }));
  }

  /** Begins anew: what comes next is an index 0. */
  reset(): void {
    this.#last = undefined;
  }

  #newPayloadId({ number, base }: WholeBlock): Hex {
    this.#attempts += 1;
    const text = `${this.#name} ${number} ${base.parentHash} ${this.#attempts}`;
    return toHex(createHash('sha256').update(text).digest().subarray(0, PAYLOAD_ID_BYTES));
  }
}

function isSameBase(one: WholeBlock, other: WholeBlock): boolean {
  const names = Object.keys(one.base) as (keyof FlashblockBase)[];
  return one.number === other.number && names.every((name) => one.base[name] === other.base[name]);
}

function isPrefix(prefix: readonly Hex[], whole: readonly Hex[]): boolean {
  return prefix.length <= whole.length && prefix.every((hash, at) => whole[at] === hash);
}

type Cut = Pick<Flashblock, 'payloadId' | 'index'> & { readonly transactions: readonly Uint8Array[] };

function flashblockOf(block: WholeBlock, { payloadId, index, transactions }: Cut): Flashblock {
  const { number: blockNumber, base, results } = block;
  const text = JSON.stringify({
    payload_id: payloadId,
    index,
    ...(index === 0 ? { base: baseText(blockNumber, base) } : {}),
    diff: {
      // What is not known is left out, as JSON does with what is undefined.
      state_root: results.stateRoot,
      receipts_root: results.receiptsRoot,
      logs_bloom: results.logsBloom,
      gas_used: toQuantity(results.gasUsed),
      blob_gas_used: results.blobGasUsed === undefined ? undefined : toQuantity(results.blobGasUsed),
      block_hash: results.blockHash,
      withdrawals_root: results.withdrawalsRoot,
      transactions: transactions.map(toHex),
      withdrawals: [],
    },
    metadata: { block_number: blockNumber },
  });
  return {
    ...{ payloadId, index, blockNumber },
    base: index === 0 ? base : undefined,
    diff: { ...results, transactions },
    digest: createHash('sha256').update(text).digest('base64'),
    text,
  };
}

function baseText(number: number, base: FlashblockBase): Readonly<Record<string, Hex>> {
  return {
    parent_beacon_block_root: base.parentBeaconBlockRoot,
    parent_hash: base.parentHash,
    fee_recipient: base.feeRecipient,
    prev_randao: base.prevRandao,
    block_number: toQuantity(number),
    gas_limit: toQuantity(base.gasLimit),
    timestamp: toQuantity(base.timestamp),
    extra_data: base.extraData,
    base_fee_per_gas: toQuantity(base.baseFeePerGas),
  };
}
