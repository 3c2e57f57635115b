import { type NativeChain, native } from '@chain-query/native';
import type { Hex } from '../primitives/hex.ts';

/** Fees of a block and, as far as it decides them, of the next one; in wei. */
export interface BlockFees {
  readonly beneficiary: Hex;
  readonly gasUsed: number;
  readonly gasLimit: number;
  /** Undefined before London. */
  readonly baseFee: bigint | undefined;
  readonly nextBaseFee: bigint | undefined;
  /** Undefined where headers have no blob fields; `maxGas` is 0 where they do and there are no blobs. */
  readonly blobs:
    | { readonly gasUsed: number; readonly maxGas: number; readonly fee: bigint; readonly nextFee: bigint }
    | undefined;
}

/** What a signed transaction says. */
export interface SignedTransaction {
  readonly hash: Hex;
  readonly from: Hex;
  readonly nonce: number;
}

/** What the rules of a chain say of bytes, without any state. */
export class ChainFacts {
  readonly isOpStack: boolean;
  readonly #chain: NativeChain;

  private constructor(chain: NativeChain) {
    this.#chain = chain;
    this.isOpStack = chain.isOpStack;
  }

  /** Of a chain that this process holds. */
  static attach(id: number): ChainFacts {
    return new ChainFacts(native.NativeChain.attach(id));
  }

  /** The fees of a block, given whole or by its header alone (RLP). */
  fees(block: Uint8Array): BlockFees {
    const { beneficiary, gasUsed, gasLimit, baseFee, nextBaseFee, blobs } = this.#chain.fees(block);
    return {
      beneficiary: beneficiary as Hex,
      gasUsed,
      gasLimit,
      baseFee: baseFee === undefined ? undefined : BigInt(baseFee),
      nextBaseFee: nextBaseFee === undefined ? undefined : BigInt(nextBaseFee),
      blobs: blobs && { ...blobs, fee: BigInt(blobs.fee), nextFee: BigInt(blobs.nextFee) },
    };
  }

  /** Reads a signed transaction; a text says why no pool of this chain would take it. */
  readTransaction(bytes: Uint8Array): SignedTransaction | string {
    try {
      return this.#chain.readRawTransaction(bytes) as SignedTransaction;
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'malformed') throw error;
      return (error as Error).message;
    }
  }
}
