import type { Outcome } from '../chain/outcome.ts';
import type { StateKey } from '../chain/state-key.ts';
import { toHex } from '../primitives/hex.ts';
import type { StateEntry, Store } from '../store/interface.ts';

type Values = Map<string, string>;

/**
 * What executing the chain said about every account and slot so far. A store must say the same at each block that
 * changed a key, and just before it: a version that no block wrote would show there, or at the head. Values are kept
 * as text, because the bytes of an outcome are views that would keep all of it.
 */
export class ExpectedState {
  readonly #accounts: Values = new Map();
  /** By address, so that a wipe finds them. */
  readonly #slots = new Map<string, Values>();

  /** Takes in one block, and says whether the store agrees about all that it changed. */
  async agrees(store: Pick<Store, 'loadState'>, { diff, number }: Outcome): Promise<boolean> {
    const keys: StateKey[] = [
      ...diff.accounts.map(([address]) => ({ kind: 'account', address }) as const),
      ...diff.slots.map(([address, slot]) => ({ kind: 'slot', address, slot }) as const),
      ...diff.wiped.flatMap((address) => this.#slotsOf(address)),
    ];
    if (number > 0 && !this.#matches(keys, await store.loadState(keys, number - 1))) return false;
    for (const address of diff.wiped) this.#slots.delete(toHex(address));
    for (const [address, value] of diff.accounts) this.#accounts.set(toHex(address), textOf(value));
    for (const [address, slot, value] of diff.slots) {
      const owner = toHex(address);
      const values = this.#slots.get(owner) ?? new Map<string, string>();
      this.#slots.set(owner, values.set(toHex(slot), textOf(value)));
    }
    if (!this.#matches(keys, await store.loadState(keys, number))) return false;
    const codes = await store.loadState(
      diff.codes.map(([hash]) => ({ kind: 'code', hash })),
      number,
    );
    return diff.codes.every(([, code], index) => textOf(codes[index]) === textOf(code));
  }

  /** Passes on the entries of a full scan; throws at its end unless they are exactly those expected. */
  async *compared(scan: AsyncIterable<StateEntry>): AsyncGenerator<StateEntry, void, void> {
    let left = 0;
    for (const values of [this.#accounts, ...this.#slots.values()]) {
      for (const value of values.values()) if (value !== '') left++;
    }
    for await (const entry of scan) {
      if (this.#expected(entry) !== textOf(entry.value)) {
        const slot = entry.kind === 'slot' ? ` slot ${toHex(entry.slot)}` : '';
        throw new Error(`${toHex(entry.address)}${slot} is not what executing the chain gives`);
      }
      left--;
      yield entry;
    }
    if (left !== 0) throw new Error(`${left} accounts or slots are missing`);
  }

  #slotsOf(address: Uint8Array): StateKey[] {
    const slots = [...(this.#slots.get(toHex(address))?.keys() ?? [])];
    return slots.map((slot) => ({ kind: 'slot', address, slot: Buffer.from(slot.slice(2), 'hex') }));
  }

  #matches(keys: readonly StateKey[], stored: readonly (Uint8Array | undefined)[]): boolean {
    return keys.every((key, index) => textOf(stored[index]) === this.#expected(key));
  }

  #expected(key: StateKey | StateEntry): string {
    if (key.kind === 'account') return this.#accounts.get(toHex(key.address)) ?? '';
    return key.kind === 'slot' ? (this.#slots.get(toHex(key.address))?.get(toHex(key.slot)) ?? '') : '';
  }
}

/** Bytes as text of a character each. What a store does not know is never what was expected. */
function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? 'unknown' : Buffer.from(bytes).toString('latin1');
}
