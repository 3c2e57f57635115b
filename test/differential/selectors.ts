import type { Random } from '../support/random.ts';
import type { Corpus } from './corpus.ts';

const quantity = (value: number): string => `0x${value.toString(16)}`;

/** A block that exists, by number; every fork's era comes up. */
export function blockNumber(random: Random, corpus: Corpus): string {
  return quantity(random.below(corpus.head + 1));
}

export function tag(random: Random): string {
  return random.pick(['latest', 'safe', 'finalized', 'earliest', 'pending']);
}

function above(random: Random, corpus: Corpus): string {
  return random.pick([
    quantity(corpus.head + 1),
    quantity(corpus.head + random.between(2, 1000)),
    '0xffffffff',
    '0x1fffffffffffff',
    '0x20000000000001',
    '0x7fffffffffffffff',
  ]);
}

function broken(random: Random, corpus: Corpus): unknown {
  const hash = random.pick(corpus.hashes);
  return random.pick<unknown>([
    '',
    '0x',
    '0x01',
    '1',
    1,
    54,
    'Latest',
    ' latest',
    'newest',
    '0xg',
    '-0x1',
    '0x8000000000000000',
    '0x10000000000000000',
    hash.slice(0, 65),
    `${hash}0`,
    hash.slice(2),
    true,
    false,
    [],
    ['latest'],
    null,
    {},
    { foo: 'latest' },
    { blockNumber: 1 },
    { blockNumber: '0x01' },
    { blockNumber: null },
    { blockHash: null },
    { blockHash: hash.slice(0, 64) },
    { blockHash: hash, blockNumber: '0x1' },
    { blockHash: hash, requireCanonical: 'yes' },
    { blockHash: hash, requireCanonical: null },
  ]);
}

/** Every form a block can be asked for in; `valid` leaves out what no server accepts. */
export function selector(random: Random, corpus: Corpus, valid = false): unknown {
  const hash = (): string => random.pick(corpus.hashes);
  return random.weighted<unknown>([
    [30, () => blockNumber(random, corpus)],
    [30, () => tag(random)],
    [6, hash],
    [6, () => ({ blockHash: hash() })],
    [4, () => ({ blockHash: hash(), requireCanonical: random.chance(0.5) })],
    [6, () => ({ blockNumber: blockNumber(random, corpus) })],
    [3, () => ({ blockNumber: tag(random) })],
    [1, () => ({ blockNumber: blockNumber(random, corpus), requireCanonical: true })],
    [3, () => above(random, corpus)],
    [1, () => ({ blockNumber: above(random, corpus) })],
    [2, () => random.hex(32)],
    [2, () => ({ blockHash: random.hex(32), requireCanonical: random.chance(0.5) })],
    [1, () => `0x${hash().slice(2).toUpperCase()}`],
    [valid ? 0 : 8, () => broken(random, corpus)],
  ]);
}
