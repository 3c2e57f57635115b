import { expect, it } from 'vitest';
import { keyText, type StateKey } from '../chain/state-key.ts';
import { StateUnavailableError } from '../primitives/errors.ts';
import { supply } from './missing.ts';

const PREFIX = '0'.repeat(32);
const slot = (index: number): StateKey => ({
  kind: 'slot',
  address: new Uint8Array(20),
  slot: new Uint8Array(32).fill(index),
});
const [first, second, third] = [slot(1), slot(2), slot(3)];

/** What the core is handed of three keys, of which some are known. */
async function handed(known: readonly StateKey[], atOnce?: number): Promise<readonly string[]> {
  const provided: string[] = [];
  const provide = (missing: string): void => void provided.push(missing);
  const texts = known.map(keyText);
  const load = (keys: readonly StateKey[]) => {
    if (!keys.some((key) => texts.includes(keyText(key)))) throw new StateUnavailableError('nobody knows');
    return keys.map((key) => (texts.includes(keyText(key)) ? Uint8Array.of(1) : undefined));
  };
  await supply({ provide }, PREFIX + [first, second, third].map(keyText).join(''), load, atOnce);
  return provided;
}

it('hands in what is known behind the first key, and leaves out what is not', async () => {
  expect(await handed([first, third])).toEqual([PREFIX + keyText(first) + keyText(third)]);
  expect(await handed([first, third], 2)).toEqual([PREFIX + keyText(first), PREFIX + keyText(third)]);
  expect(await handed([first], 1)).toEqual([PREFIX + keyText(first)]);
});

it('fails without the first', async () => {
  await expect(handed([second, third])).rejects.toThrow(StateUnavailableError);
});
