import { describe, expect, it } from 'vitest';
import { formatSelector, LATEST, parseBlockBound, parseBlockSelector } from './block-selector.ts';

const HASH = `0x${'Ab'.repeat(32)}`;

describe('parseBlockSelector (A3, B5)', () => {
  it.each(['latest', 'pending', 'safe', 'finalized', 'earliest'])('reads the tag %s', (tag) => {
    expect(parseBlockSelector(tag, 'x')).toEqual({ kind: 'tag', tag });
    expect(parseBlockSelector({ blockNumber: tag }, 'x')).toEqual({ kind: 'tag', tag });
  });

  it('takes an absent block for latest', () => {
    expect(parseBlockSelector(undefined, 'x')).toBe(LATEST);
    expect(parseBlockSelector(null, 'x')).toBe(LATEST);
  });

  it('reads numbers', () => {
    const expected = { kind: 'number', number: 26, hex: '0x1a' };
    expect(parseBlockSelector('0x1A', 'x')).toEqual(expected);
    expect(parseBlockSelector({ blockNumber: '0x1a', blockHash: null }, 'x')).toEqual(expected);
  });

  it('reads hashes, bare and as EIP-1898 has them', () => {
    const hash = HASH.toLowerCase();
    expect(parseBlockSelector(HASH, 'x')).toEqual({ kind: 'hash', hash, requireCanonical: false });
    expect(parseBlockSelector({ blockHash: HASH, requireCanonical: true }, 'x')).toEqual({
      kind: 'hash',
      hash,
      requireCanonical: true,
    });
  });

  it.each([
    '',
    'newest',
    'Latest',
    '1',
    '0x',
    '0x01',
    '0x8000000000000000',
    5,
    true,
    [],
    {},
    { blockNumber: '0x1', blockHash: HASH },
    { blockHash: '0x12' },
    { blockHash: HASH, requireCanonical: 'yes' },
    { blockNumber: 1 },
    `0x${'zz'.repeat(32)}`,
  ])('refuses %j', (value) => {
    expect(() => parseBlockSelector(value, 'x')).toThrow(/^x: /);
  });
});

it('a bound of a range is no hash and no object', () => {
  expect(() => parseBlockBound(HASH, 'x')).toThrow('x: hex number > 64 bits');
  expect(() => parseBlockBound({ blockNumber: '0x1' }, 'x')).toThrow('x: expected a string');
});

it('a selector is written as the client would', () => {
  expect(
    ['pending', '0x1a', HASH.toLowerCase()].map((s) => formatSelector(parseBlockSelector(s, 'x'))),
  ).toEqual(['pending', '0x1a', HASH.toLowerCase()]);
});
