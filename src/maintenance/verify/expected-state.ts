import type { Outcome } from '../../chain/outcome.ts';
import { describeKey, type StateKey } from '../../chain/state-key.ts';
import { codeHashOf } from '../../executor/missing.ts';
import { keccak256 } from '../../executor/native-executor.ts';
import { fromHex, type Hex, toHex } from '../../primitives/hex.ts';
import type { StateEntry, Store } from '../../store/interface.ts';

type Values = Map<string, string>;
type StateStore = Pick<Store, 'loadState' | 'scanState'>;

/** Entries of a scan that are compared together. */
const PAGE = 1_024;
const UNKNOWN = 'unknown';

/**
 * What executing the chain said about every account and slot so far. A store must say the same at each block that
 * changed a key, and just before it: a version that no block wrote would show there, or at the head. Values are kept
 * as text, because the bytes of an outcome are views that would keep all of it.
 *
 * Where execution began above genesis, at block `base`, a key has the value of that block until another writes it.
 */
export class ExpectedState {
  readonly #base: number | undefined;
  readonly #accounts: Values = new Map();
  /** By address, so that a wipe finds them. */
  readonly #slots = new Map<string, Values>();
  /** Accounts that lost all their slots: those that were not looked at too. */
  readonly #wiped = new Set<string>();
  /** Code that was found to have its hash. */
  readonly #codes = new Set<string>();

  constructor(base: number | undefined) {
    this.#base = base;
  }

  /** Takes in one block, and says whether the store agrees about all that it changed. */
  async agrees(store: Pick<Store, 'loadState'>, { diff, number }: Outcome): Promise<boolean> {
    const keys: StateKey[] = [
      ...diff.accounts.map(([address]) => ({ kind: 'account', address }) as const),
      ...diff.slots.map(([address, slot]) => ({ kind: 'slot', address, slot }) as const),
      ...diff.wiped.flatMap((address) => this.#slotsOf(address)),
    ];
    await this.#load(store, keys);
    if (number > 0 && !this.#matches(keys, await store.loadState(keys, number - 1))) return false;
    for (const address of diff.wiped) {
      this.#slots.delete(toHex(address));
      this.#wiped.add(toHex(address));
    }
    for (const [address, value] of diff.accounts) this.#set({ kind: 'account', address }, textOf(value));
    for (const [address, slot, value] of diff.slots)
      this.#set({ kind: 'slot', address, slot }, textOf(value));
    if (!this.#matches(keys, await store.loadState(keys, number))) return false;
    const codes = await store.loadState(
      diff.codes.map(([hash]) => ({ kind: 'code', hash })),
      number,
    );
    return diff.codes.every(([, code], index) => textOf(codes[index]) === textOf(code));
  }

  /** Passes on the entries of a full scan; throws unless they are exactly those expected, with their code. */
  async *compared(store: StateStore, number: number): AsyncGenerator<StateEntry, void, void> {
    let left = 0;
    for (const values of [this.#accounts, ...this.#slots.values()]) {
      for (const value of values.values()) if (value !== '' && value !== UNKNOWN) left++;
    }
    for await (const page of paged(store.scanState(number))) {
      const before = await this.#untouched(store, page);
      await this.#checkCodes(store, page, number);
      for (const entry of page) {
        const expected = this.#known(entry) ?? before.get(entry) ?? '';
        if (expected !== textOf(entry.value)) {
          throw new Error(`${describeKey(entry)} is not what executing the chain gives`);
        }
        if (!before.has(entry)) left--;
        yield entry;
      }
    }
    if (left !== 0) throw new Error(`${left} accounts or slots are missing`);
    await this.#expectKept(store, number);
  }

  /** What the base has and no block touched must still be there. */
  async #expectKept(store: StateStore, number: number): Promise<void> {
    if (this.#base === undefined) return;
    for await (const page of paged(store.scanState(this.#base))) {
      const entries = page.filter((entry) => this.#known(entry) === undefined);
      const values = await store.loadState(entries, number);
      const lost = entries.find((entry, index) => textOf(entry.value) !== textOf(values[index]));
      if (lost !== undefined) throw new Error(`${describeKey(lost)} is lost, and no block changed it`);
    }
  }

  /** Finds out what keys were before any block changed them. */
  async #load(store: Pick<Store, 'loadState'>, keys: readonly StateKey[]): Promise<void> {
    if (this.#base === undefined) return;
    const fresh = keys.filter((key) => this.#known(key) === undefined);
    const values = await store.loadState(fresh, this.#base);
    for (const [index, key] of fresh.entries()) this.#set(key, textOf(values[index]));
  }

  /** What the base says about entries that no block touched. */
  async #untouched(
    store: Pick<Store, 'loadState'>,
    page: readonly StateEntry[],
  ): Promise<ReadonlyMap<StateEntry, string>> {
    if (this.#base === undefined) return new Map();
    const entries = page.filter((entry) => this.#known(entry) === undefined);
    const values = await store.loadState(entries, this.#base);
    return new Map(entries.map((entry, index) => [entry, textOf(values[index])]));
  }

  async #checkCodes(
    store: Pick<Store, 'loadState'>,
    page: readonly StateEntry[],
    number: number,
  ): Promise<void> {
    const hashes = new Set<Hex>();
    for (const entry of page) {
      const hash = entry.kind === 'account' ? codeHashOf(entry.value) : undefined;
      if (hash !== undefined && !this.#codes.has(toHex(hash))) hashes.add(toHex(hash));
    }
    const keys = [...hashes].map((hash) => ({ kind: 'code', hash: fromHex(hash) }) as const);
    const codes = await store.loadState(keys, number);
    for (const [index, hash] of [...hashes].entries()) {
      const code = codes[index];
      if (code === undefined || toHex(keccak256(code)) !== hash) {
        throw new Error(`code ${hash} is missing, or has another hash`);
      }
      this.#codes.add(hash);
    }
  }

  #set(key: StateKey, value: string): void {
    if (key.kind === 'account') this.#accounts.set(toHex(key.address), value);
    if (key.kind !== 'slot') return;
    const owner = toHex(key.address);
    const values = this.#slots.get(owner) ?? new Map<string, string>();
    this.#slots.set(owner, values.set(toHex(key.slot), value));
  }

  #slotsOf(address: Uint8Array): StateKey[] {
    const slots = [...(this.#slots.get(toHex(address))?.keys() ?? [])];
    return slots.map((slot) => ({ kind: 'slot', address, slot: Buffer.from(slot.slice(2), 'hex') }));
  }

  #matches(keys: readonly StateKey[], stored: readonly (Uint8Array | undefined)[]): boolean {
    return keys.every((key, index) => textOf(stored[index]) === (this.#known(key) ?? ''));
  }

  /** What blocks said about a key; undefined when none did. */
  #known(key: StateKey | StateEntry): string | undefined {
    if (key.kind === 'account') return this.#accounts.get(toHex(key.address));
    if (key.kind !== 'slot') return undefined;
    const owner = toHex(key.address);
    return this.#slots.get(owner)?.get(toHex(key.slot)) ?? (this.#wiped.has(owner) ? '' : undefined);
  }
}

async function* paged(scan: AsyncIterable<StateEntry>): AsyncGenerator<readonly StateEntry[], void, void> {
  let page: StateEntry[] = [];
  for await (const entry of scan) {
    page.push(entry);
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  yield page;
}

/** Bytes as text of a character each; what a store does not know is like no bytes. */
function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? UNKNOWN : Buffer.from(bytes).toString('latin1');
}
