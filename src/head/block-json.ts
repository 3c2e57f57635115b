import type { Receipt } from '../chain/receipt.ts';
import type { PreconfirmedFlashblock } from '../feed/interface.ts';
import { type Hex, toHex, ZERO_HASH } from '../primitives/hex.ts';
import { toQuantity } from '../primitives/parse.ts';
import type { PreconfirmedBlock } from './preconfirmed.ts';

/** Transactions and what executing them gave. */
export interface BlockContents {
  /** RLP of the whole block, or of the piece of it that has these transactions. */
  readonly block: Uint8Array;
  readonly receipts: readonly Receipt[];
}

/** A block that is sealed. */
export interface SealedBlock extends BlockContents {
  readonly hash: Hex;
  readonly timestampMs?: number | undefined;
}

/** JSON of what the store and the feed hold as bytes. */
export interface Render {
  /** A header; with another hash than its own where it is not sealed yet. */
  header(header: Uint8Array, hash?: Hex): string;
  /** A block but for its transactions, of the whole of it or, in order, of all pieces that there are; `hash` as above. */
  block(pieces: readonly Uint8Array[], hash?: Hex): string;
  /** The array of the transactions of a block or piece, the first of which is number `first` of its block. */
  transactions(contents: BlockContents, first: number, blockHash: Hex): string;
}

/** Whether a block lists its transactions whole or by hash. */
export type Listing = 'whole' | 'hashes';

/** Blocks, headers and transactions as JSON, sealed and pre-confirmed ones. */
export class BlockJson {
  readonly #render: Render;
  /** JSON of each transaction of a flashblock, of which a block so far has many and gains one at a time. */
  readonly #ofFlashblocks = new WeakMap<PreconfirmedFlashblock, readonly string[]>();

  constructor(render: Render) {
    this.#render = render;
  }

  /** A header; one that is not sealed yet has a hash of zero. */
  header(header: Uint8Array, timestampMs: number | undefined, hash?: Hex): string {
    return withTime(this.#render.header(header, hash), 'timestampMs', timestampMs);
  }

  sealed(block: SealedBlock, listing: Listing): string {
    const transactions = listing === 'whole' ? this.transactions(block) : hashes(block.receipts);
    return withTransactions(this.#render.block([block.block], block.hash), block.timestampMs, transactions);
  }

  preconfirmed({ flashblocks, timestampMs }: PreconfirmedBlock, listing: Listing): string {
    const pieces = flashblocks.map(({ outcome }) => outcome.block);
    const transactions = flashblocks.flatMap((flashblock) =>
      listing === 'whole' ? this.ofFlashblock(flashblock, timestampMs) : hashes(flashblock.outcome.receipts),
    );
    return withTransactions(this.#render.block(pieces, ZERO_HASH), timestampMs, transactions);
  }

  /** Each transaction of a sealed block. */
  transactions(block: SealedBlock): readonly string[] {
    return this.#list(block, 0, block.hash, block.timestampMs);
  }

  /** One transaction of a sealed block; undefined where it has none of that number. */
  transaction(block: SealedBlock, index: number): string | undefined {
    return index < block.receipts.length ? this.transactions(block)[index] : undefined;
  }

  /** The same of a pre-confirmed one. */
  ofPreconfirmed({ flashblocks, timestampMs }: PreconfirmedBlock, index: number): string | undefined {
    const flashblock = flashblocks.findLast(({ firstTransaction }) => firstTransaction <= index);
    if (flashblock === undefined) return undefined;
    return this.ofFlashblock(flashblock, timestampMs)[index - flashblock.firstTransaction];
  }

  /** Each transaction of a flashblock, whose block has this time. */
  ofFlashblock(flashblock: PreconfirmedFlashblock, timestampMs: number | undefined): readonly string[] {
    const known = this.#ofFlashblocks.get(flashblock);
    if (known !== undefined) return known;
    const { outcome, firstTransaction } = flashblock;
    const texts = this.#list(outcome, firstTransaction, ZERO_HASH, timestampMs);
    this.#ofFlashblocks.set(flashblock, texts);
    return texts;
  }

  #list(
    contents: BlockContents,
    first: number,
    blockHash: Hex,
    timestampMs: number | undefined,
  ): readonly string[] {
    const all = JSON.parse(this.#render.transactions(contents, first, blockHash)) as readonly object[];
    return all.map((one) => withTime(JSON.stringify(one), 'blockTimestampMs', timestampMs));
  }
}

function hashes(receipts: readonly Receipt[]): readonly string[] {
  return receipts.map(({ transactionHash }) => `"${toHex(transactionHash)}"`);
}

function withTransactions(
  block: string,
  timestampMs: number | undefined,
  transactions: readonly string[],
): string {
  const timed = withTime(block, 'timestampMs', timestampMs);
  return `${timed.slice(0, -1)},"transactions":[${transactions.join()}]}`;
}

function withTime(json: string, name: string, timestampMs: number | undefined): string {
  return timestampMs === undefined ? json : `${json.slice(0, -1)},"${name}":"${toQuantity(timestampMs)}"}`;
}
