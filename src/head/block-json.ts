import type { Receipt } from '../chain/receipt.ts';
import type { PreconfirmedFlashblock } from '../feed/interface.ts';
import { type Hex, toHex, ZERO_HASH } from '../primitives/hex.ts';
import { toQuantity } from '../primitives/parse.ts';
import type { PreconfirmedBlock } from './preconfirmed.ts';
import type { Listing } from './rendered.ts';

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

/** JSON, and the bytes that the chain commits to, of what the store and the feed hold as bytes. */
export interface Render {
  /** A header; with another hash than its own where it is not sealed yet. */
  header(header: Uint8Array, hash?: Hex): string;
  /** A block but for its transactions, of the whole of it or, in order, of all pieces that there are; `hash` as above. */
  block(pieces: readonly Uint8Array[], hash?: Hex): string;
  /**
   * Each transaction of a block or piece, the first of which is number `first` of its block; with `only`, counted from
   * these, none but that one.
   */
  transactions(contents: BlockContents, first: number, blockHash: Hex, only?: number): readonly string[];
  /** A block put together from all pieces that there are, in order. */
  rawBlock(pieces: readonly Uint8Array[]): Uint8Array;
  /** A transaction of a block or piece. */
  rawTransaction(block: Uint8Array, index: number): Uint8Array;
  /** Each receipt of a block, from the JSON array of them. */
  rawReceipts(header: Uint8Array, receipts: string): readonly Uint8Array[];
}

/** Blocks, headers and transactions as JSON or in bytes, sealed and pre-confirmed ones. */
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
    const transactions = flashblocks.flatMap((flashblock) =>
      listing === 'whole' ? this.ofFlashblock(flashblock, timestampMs) : hashes(flashblock.outcome.receipts),
    );
    return withTransactions(this.#render.block(piecesOf(flashblocks), ZERO_HASH), timestampMs, transactions);
  }

  /** Each transaction of a sealed block. */
  transactions(block: SealedBlock): readonly string[] {
    return this.#list(block, 0, block.hash, block.timestampMs);
  }

  /** One transaction of a sealed block; undefined where it has none of that number. */
  transaction(block: SealedBlock, index: number): string | undefined {
    if (index >= block.receipts.length) return undefined;
    return this.#list(block, 0, block.hash, block.timestampMs, index)[0];
  }

  /** The same of a pre-confirmed one. */
  ofPreconfirmed(block: PreconfirmedBlock, index: number): string | undefined {
    const flashblock = flashblockOf(block, index);
    if (flashblock === undefined) return undefined;
    return this.ofFlashblock(flashblock, block.timestampMs)[index - flashblock.firstTransaction];
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

  /** The bytes of a pre-confirmed block so far. */
  rawPreconfirmed({ flashblocks }: PreconfirmedBlock): Hex {
    return toHex(this.#render.rawBlock(piecesOf(flashblocks)));
  }

  /** The bytes of a transaction of a block. */
  rawTransaction(block: Uint8Array, index: number): Hex {
    return toHex(this.#render.rawTransaction(block, index));
  }

  /** The same of a pre-confirmed one; undefined where it has none of that number. */
  rawOfPreconfirmed(block: PreconfirmedBlock, index: number): Hex | undefined {
    const flashblock = flashblockOf(block, index);
    return flashblock && this.rawTransaction(flashblock.outcome.block, index - flashblock.firstTransaction);
  }

  /** The bytes of a block's receipts, of which this is the JSON array. */
  rawReceipts(header: Uint8Array, receipts: Buffer): readonly Hex[] {
    return this.#render.rawReceipts(header, receipts.toString('latin1')).map(toHex);
  }

  #list(
    contents: BlockContents,
    first: number,
    blockHash: Hex,
    timestampMs: number | undefined,
    only?: number,
  ): readonly string[] {
    const all = this.#render.transactions(contents, first, blockHash, only);
    return timestampMs === undefined
      ? all
      : all.map((json) => withTime(json, 'blockTimestampMs', timestampMs));
  }
}

function piecesOf(flashblocks: readonly PreconfirmedFlashblock[]): readonly Uint8Array[] {
  return flashblocks.map(({ outcome }) => outcome.block);
}

/** The flashblock that has a block's transaction of this number, if any has. */
function flashblockOf(
  { flashblocks, transactions }: PreconfirmedBlock,
  index: number,
): PreconfirmedFlashblock | undefined {
  if (index >= transactions) return undefined;
  return flashblocks.findLast(({ firstTransaction }) => firstTransaction <= index);
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
