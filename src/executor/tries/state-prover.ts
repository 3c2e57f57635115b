import { type NativeCommitment, native } from '@chain-query/native';
import type { BlockRef } from '../../chain/outcome.ts';
import { fromHex, type Hex } from '../../primitives/hex.ts';
import { Pace } from '../../primitives/pace.ts';
import type { StateScan } from './state-tries.ts';

/** An account with its proof; all of what is not there is zero or empty. Numbers are quantities. */
export interface AccountProof {
  readonly nonce: Hex;
  readonly balance: Hex;
  readonly codeHash: Hex;
  readonly storageHash: Hex;
  readonly nodes: readonly Hex[];
  /** In the order they were asked for. */
  readonly slots: readonly { readonly value: Hex; readonly nodes: readonly Hex[] }[];
}

/** A block and the root of the state after it. */
export interface ProvenBlock extends BlockRef {
  readonly stateRoot: Hex;
}

interface Gathered {
  readonly hash: Hex;
  readonly state: Promise<NativeCommitment | undefined>;
}

/**
 * Proofs from a state that is complete and small. All of it is gathered, and believed if it gives the block's state root; what was
 * gathered last is kept. A state that is partial or too large is found out once.
 */
export class StateProver {
  readonly #scan: (number: number) => StateScan;
  readonly #maxKeys: number;
  #gathered: Gathered | undefined;
  #isIncomplete = false;

  constructor(scan: (number: number) => StateScan, { maxKeys }: { readonly maxKeys: number }) {
    this.#scan = scan;
    this.#maxKeys = maxKeys;
  }

  /** Proves an account and its slots; undefined where the state is partial or too large. */
  async prove(block: ProvenBlock, address: Hex, slots: readonly Hex[]): Promise<AccountProof | undefined> {
    if (this.#isIncomplete) return undefined;
    const { state } = this.#of(block);
    const complete = await state;
    return complete?.prove(fromHex(address), slots.map(fromHex)) as AccountProof | undefined;
  }

  #of(block: ProvenBlock): Gathered {
    if (this.#gathered?.hash === block.hash) return this.#gathered;
    const state = this.#gather(block);
    const gathered = { hash: block.hash, state };
    this.#gathered = gathered;
    state.catch(() => {
      if (this.#gathered === gathered) this.#gathered = undefined;
    });
    return gathered;
  }

  async #gather({ number, stateRoot }: ProvenBlock): Promise<NativeCommitment | undefined> {
    const state = new native.NativeCommitment();
    const pace = new Pace();
    let keys = 0;
    for await (const entry of this.#scan(number)) {
      if (++keys > this.#maxKeys) break;
      if (entry.kind === 'account') state.addAccount(entry.address, entry.value);
      else state.addSlot(entry.address, entry.slot, entry.value);
      if (pace.spend(1)) await pace.rest();
    }
    if (keys <= this.#maxKeys && state.root() === stateRoot) return state;
    this.#isIncomplete = true;
    return undefined;
  }
}
