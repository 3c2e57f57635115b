import type { Receipt } from '../../chain/receipt.ts';
import type { ConfirmedBlock, RemovedBlock } from '../../feed/interface.ts';
import type { BlockJson } from '../../head/block-json.ts';
import type { PreconfirmedBlock } from '../../head/preconfirmed.ts';
import { RenderedBlock } from '../../head/rendered.ts';
import { type Hex, toHex, ZERO_HASH } from '../../primitives/hex.ts';
import type { BlockLogs } from '../../store/interface.ts';
import { hashless } from './log-message.ts';
import { ConfirmedLogs, commonLogs, RemovedLogs } from './log-run.ts';

/** The transactions of one block, as clients are told of them. */
export class BlockTransactions {
  readonly number: number;
  readonly #receipts: readonly Receipt[];
  readonly #logs: BlockLogs;
  readonly #bodies: () => readonly string[];
  readonly #hashed: RenderedBlock;
  #hashless: RenderedBlock | undefined;

  private constructor(
    receipts: readonly Receipt[],
    rendered: RenderedBlock,
    bodies: () => readonly string[] = () => [],
  ) {
    this.#receipts = receipts;
    this.#hashed = rendered;
    this.#logs = rendered.logs;
    this.number = rendered.logs.number;
    this.#bodies = bodies;
  }

  static preconfirmed(block: PreconfirmedBlock, json: BlockJson): BlockTransactions {
    return new BlockTransactions(block.receipts, block.rendered, () =>
      block.flashblocks.flatMap((flashblock) => json.ofFlashblock(flashblock, block.timestampMs)),
    );
  }

  static confirmed(block: ConfirmedBlock, json: BlockJson): BlockTransactions {
    const { outcome, hash } = block;
    return new BlockTransactions(outcome.receipts, new RenderedBlock(new ConfirmedLogs(block)), () =>
      json.transactions({ ...outcome, hash }),
    );
  }

  /** Of a block that was taken off; what it consisted of is not told again. */
  static removed(block: RemovedBlock): BlockTransactions {
    return new BlockTransactions(block.receipts, new RenderedBlock(new RemovedLogs(block)));
  }

  get length(): number {
    return this.#receipts.length;
  }

  hash(index: number): Hex {
    const receipt = this.#receipts[index];
    if (receipt === undefined) throw new RangeError(`block ${this.number} has no transaction ${index}`);
    return toHex(receipt.transactionHash);
  }

  /** The JSON of each transaction. */
  bodies(): readonly string[] {
    return this.#bodies();
  }

  /** The JSON of a receipt, with the block's hash or as it was before there was one. */
  receipt(index: number, isHashed: boolean): string {
    const rendered = isHashed || this.#logs.hash === ZERO_HASH ? this.#hashed : this.#withoutHash();
    const text = rendered.receipt({ receipts: this.#receipts, logs: this.#logs }, index);
    if (text === undefined) throw new RangeError(`block ${this.number} has no transaction ${index}`);
    return text;
  }

  #withoutHash(): RenderedBlock {
    this.#hashless ??= new RenderedBlock(hashless(this.#logs));
    return this.#hashless;
  }

  /** How many transactions two versions of a block begin with that executed alike. */
  static common(a: BlockTransactions, b: BlockTransactions): number {
    if (a.#receipts === b.#receipts) return a.length;
    if (a.#logs.timestamp !== b.#logs.timestamp || a.#logs.timestampMs !== b.#logs.timestampMs) return 0;
    let logs = commonLogs(a.#logs, b.#logs);
    const shorter = Math.min(a.length, b.length);
    for (let index = 0; index < shorter; index++) {
      const [one, other] = [a.#receipts[index], b.#receipts[index]];
      logs -= one?.logCount ?? 0;
      if (one === undefined || other === undefined || logs < 0 || !isSame(one, other)) return index;
    }
    return shorter;
  }
}

/** Whether two receipts say the same, but for their logs. */
function isSame(one: Receipt, other: Receipt): boolean {
  if (one === other) return true;
  return (
    Buffer.compare(one.transactionHash, other.transactionHash) === 0 &&
    one.status === other.status &&
    one.gasUsed === other.gasUsed &&
    one.cumulativeGasUsed === other.cumulativeGasUsed &&
    one.effectiveGasPrice === other.effectiveGasPrice &&
    one.logCount === other.logCount &&
    one.extras.length === other.extras.length &&
    one.extras.every(([name, value], at) => other.extras[at]?.[0] === name && other.extras[at]?.[1] === value)
  );
}
