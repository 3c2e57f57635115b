import { LRUCache } from 'lru-cache';
import type { Receipt } from '../chain/receipt.ts';
import type { BlockFees, ChainFacts } from '../executor/chain-facts.ts';
import { andThen } from '../primitives/awaitable.ts';
import { type Awaitable, type Hex, toHex } from '../primitives/hex.ts';
import { toQuantity } from '../primitives/parse.ts';
import { partsAt } from './block-answers.ts';
import type { Snapshot } from './snapshot.ts';

/** What one transaction paid above the base fee. */
export interface PaidTip {
  readonly tip: bigint;
  readonly gasUsed: number;
  /** Its sender is who built the block, and paid itself. */
  readonly isBuilder: boolean;
}

/** The fees of one block and what its transactions paid, the least first. */
export interface FeeSample {
  readonly fees: BlockFees;
  readonly tips: readonly PaidTip[];
}

/** Transactions whose tips are kept, for all blocks together. */
const MAX_KEPT = 65_536;
const DEPOSIT = 0x7e;

/** Fees of blocks, sealed and pre-confirmed ones; what a sealed block paid is worked out once. */
export class FeeReader {
  readonly #facts: Pick<ChainFacts, 'fees'>;
  readonly #kept = new LRUCache<Hex, FeeSample>({
    maxSize: MAX_KEPT,
    sizeCalculation: ({ tips }) => tips.length + 1,
  });

  constructor(facts: Pick<ChainFacts, 'fees'>) {
    this.#facts = facts;
  }

  /** The fees of a block by its number; undefined for one that a snapshot does not have. */
  fees(snapshot: Snapshot, number: number): Awaitable<BlockFees | undefined> {
    return andThen(partsAt(snapshot, selectorOf(number)), (parts) => {
      if (parts === undefined) return undefined;
      return this.#kept.get(parts.hash)?.fees ?? andThen(parts.header(), (rlp) => this.#facts.fees(rlp));
    });
  }

  /** The same with what its transactions paid. */
  sample(snapshot: Snapshot, number: number): Awaitable<FeeSample | undefined> {
    return andThen(partsAt(snapshot, selectorOf(number)), (parts) => {
      if (parts === undefined) return undefined;
      const kept = this.#kept.get(parts.hash);
      if (kept !== undefined) return kept;
      return andThen(parts.header(), (rlp) =>
        andThen(parts.receipts(), (receipts) => {
          const fees = this.#facts.fees(rlp);
          const sample = { fees, tips: tipsOf(receipts, fees) };
          if (parts.isSealed) this.#kept.set(parts.hash, sample);
          return sample;
        }),
      );
    });
  }
}

function selectorOf(number: number): { readonly kind: 'number'; readonly number: number; readonly hex: Hex } {
  return { kind: 'number', number, hex: toQuantity(number) };
}

function tipsOf(receipts: readonly Receipt[], { baseFee = 0n, beneficiary }: BlockFees): readonly PaidTip[] {
  const tips = receipts.map(({ type, effectiveGasPrice, gasUsed, from }) => ({
    tip: type === DEPOSIT ? 0n : effectiveGasPrice - baseFee,
    gasUsed,
    isBuilder: toHex(from) === beneficiary,
  }));
  return tips.sort((a, b) => (a.tip < b.tip ? -1 : a.tip > b.tip ? 1 : 0));
}
