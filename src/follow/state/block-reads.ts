import { keyText, type StateKey } from '../../chain/state-key.ts';
import type { Pin } from '../../store/interface.ts';
import type { UpstreamValue } from './reader.ts';

/** Finds what a block touched before it is executed, where an upstream can tell; `undefined` for what it cannot. */
export type Trace = (keys: readonly StateKey[]) => Promise<readonly (UpstreamValue | undefined)[]>;

/** What executing one block has asked for, until the block is verified. */
export class BlockReads {
  readonly pins = new Map<string, Pin>();
  /** What was known here before, for whatever reason. */
  readonly held = new Map<string, Pin>();
  /** What each upstream said that the block was executed on: accounts and slots. */
  readonly #told = new Map<string, Map<string, Pin>>();
  /** Asked first: the upstream that gave the block. */
  readonly prefer: string | undefined;
  /** Of the copy that it was read for. */
  generation: number | undefined;
  usedTrace = false;
  #codes: Pin[] = [];
  readonly #trace: Trace | undefined;

  constructor(prefer: string | undefined, trace?: Trace) {
    this.prefer = prefer;
    this.#trace = trace;
  }

  /** Who said anything that the block was executed on. */
  get sources(): ReadonlySet<string> {
    return new Set(this.#told.keys());
  }

  /** The accounts and slots that an upstream told. */
  toldBy(upstream: string): ReadonlyMap<string, Pin> {
    return this.#told.get(upstream) ?? new Map();
  }

  /** Takes note that an upstream told something that is no value of a key. */
  addSource(upstream: string): void {
    if (!this.#told.has(upstream)) this.#told.set(upstream, new Map());
  }

  add(keys: readonly StateKey[], fetched: readonly (UpstreamValue | undefined)[]): void {
    for (const [index, key] of keys.entries()) {
      const found = fetched[index];
      const pins = toPins(key, found);
      for (const pin of pins) this.pins.set(keyText(pin.key), pin);
      this.#codes.push(...pins.filter((pin) => pin.key.kind === 'code'));
      const [first] = pins;
      if (first === undefined || found?.upstream === undefined) continue;
      const told = this.#told.get(found.upstream) ?? new Map<string, Pin>();
      if (key.kind === 'account' || key.kind === 'slot') told.set(keyText(key), first);
      this.#told.set(found.upstream, told);
    }
  }

  /** The code that was told since the last look. */
  takeCodes(): readonly Pin[] {
    const codes = this.#codes;
    this.#codes = [];
    return codes;
  }

  /** Values that a trace of the whole block tells. */
  async trace(keys: readonly StateKey[]): Promise<readonly (Uint8Array | undefined)[]> {
    const found = (await this.#trace?.(keys)) ?? [];
    this.usedTrace ||= found.some((fetched) => fetched !== undefined);
    this.add(keys, found);
    return keys.map((_, index) => found[index]?.value);
  }
}

/** What is pinned of what an upstream said of a key: its value, and the code of an account. */
export function toPins(key: StateKey, fetched: UpstreamValue | undefined): Pin[] {
  if (fetched?.value === undefined) return [];
  const pin: Pin = { key, value: fetched.value };
  const { code } = fetched;
  return code === undefined ? [pin] : [pin, { key: { kind: 'code', hash: code.hash }, value: code.bytes }];
}
