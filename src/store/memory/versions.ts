import type { Outcome } from '../../chain/outcome.ts';
import { keyText, type StateKey } from '../../chain/state-key.ts';
import { toHex } from '../../primitives/hex.ts';
import type { Pin, StateVersion } from '../interface.ts';
import { includes, valueIn } from './outcomes.ts';

type Known = Extract<StateKey, { kind: 'account' | 'slot' }>;

/** What blocks and pins say of the state as of `from`, and what each block above changed. */
export function* versionsIn(
  chain: readonly Outcome[],
  pins: readonly Pin[],
  { from, to, partial }: { readonly from: number; readonly to: number; readonly partial: boolean },
): Generator<StateVersion> {
  const before = chain.filter(({ number }) => number <= from).toReversed();
  const after = chain.filter(({ number }) => number > from && number <= to);
  const wiped = before.flatMap(({ diff }) => diff.wiped);
  const distinct = new Map(wiped.map((address) => [toHex(address), address]));
  if (partial) for (const address of distinct.values()) yield { kind: 'wipe', address, number: from };
  for (const { diff, number } of after)
    for (const address of diff.wiped) yield { kind: 'wipe', address, number };

  const keys = new Map<string, Known>();
  const pinned = new Map(pins.map(({ key, value }) => [keyText(key), value]));
  const add = (key: StateKey): void => {
    if (key.kind === 'account' || key.kind === 'slot') keys.set(keyText(key), key);
  };
  for (const { key } of pins) add(key);
  for (const { diff } of before) {
    for (const [address] of diff.accounts) add({ kind: 'account', address });
    for (const [address, slot] of diff.slots) add({ kind: 'slot', address, slot });
  }
  for (const [name, key] of keys) {
    const value = valueIn(before, chain, key) ?? pinned.get(name);
    const isSaid = !partial || (key.kind === 'slot' && includes(wiped, key.address));
    if (value !== undefined && (value.length > 0 || !isSaid)) yield { ...key, number: from, value };
  }
  for (const { diff, number } of after) {
    for (const [address, value] of diff.accounts) yield { kind: 'account', address, number, value };
    for (const [address, slot, value] of diff.slots) yield { kind: 'slot', address, slot, number, value };
  }
  const codes = new Map(chain.flatMap(({ diff }) => diff.codes.map((code) => [toHex(code[0]), code])));
  for (const { key, value } of pins) if (key.kind === 'code') codes.set(toHex(key.hash), [key.hash, value]);
  for (const [hash, value] of codes.values()) yield { kind: 'code', hash, value };
}
