import { expect, it } from 'vitest';
import { createRandom } from '../../test/support/store/contract-chain.ts';
import { CodecError } from '../chain/byte-codec.ts';
import { encodeDiff } from '../chain/diff-codec.ts';
import { type DiffEntry, DiffIndex } from './diff-index.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Some keys of few values, so that many are alike in how they begin. */
function makeDiff(random: (below: number) => number) {
  const bytes = (length: number): Uint8Array => new Uint8Array(length).map(() => random(2));
  const list = <T>(make: () => T): T[] => Array.from({ length: random(40) }, make);
  return {
    wiped: list(() => bytes(20)),
    accounts: list(() => [bytes(20), bytes(random(9))] as const),
    slots: list(() => [bytes(20), bytes(32), bytes(random(9))] as const),
    codes: list(() => [bytes(32), bytes(random(9))] as const),
  };
}

it(`finds what a diff says, and nothing else (seed ${seed})`, () => {
  const random = createRandom(seed);
  for (let round = 0; round < 200; round++) {
    const diff = makeDiff(random);
    const index = new DiffIndex(Uint8Array.from(encodeDiff(diff)));
    const slots = diff.slots.map(
      ([address, slot, value]) => [Buffer.concat([address, slot]), value] as const,
    );
    const wiped = diff.wiped.map((address) => [address, new Uint8Array()] as const);
    const all = { wiped, account: diff.accounts, slot: slots, code: diff.codes };
    for (const [kind, entries] of Object.entries(all) as [DiffEntry, typeof slots][]) {
      for (const [key] of entries) {
        // Of those that are there twice, the last counts, as in every store.
        const last = entries.findLast(([other]) => Buffer.compare(other, key) === 0)?.[1];
        expect(index.find(kind, key)).toEqual(last);
        const other = key.map((byte, at) => (at === random(key.length) ? byte ^ 2 : byte));
        if (Buffer.compare(other, key) !== 0) expect(index.find(kind, other)).toBeUndefined();
      }
    }
  }
});

it(`takes no bytes that are no diff (seed ${seed})`, () => {
  const random = createRandom(seed);
  for (let round = 0; round < 300; round++) {
    const bytes = encodeDiff(makeDiff(random));
    expect(() => new DiffIndex(bytes.subarray(0, random(bytes.length)))).toThrow(CodecError);
    const spoilt = bytes.map((byte) => (random(20) === 0 ? random(256) : byte));
    try {
      new DiffIndex(spoilt).find('account', new Uint8Array(20));
    } catch (error) {
      expect(error).toBeInstanceOf(CodecError);
    }
  }
});
