import { describe, expect, it } from 'vitest';
import type { StateKey } from '../../chain/state-key.ts';
import { BLOCK_HASHES } from '../../chain/system-contracts.ts';
import { headerHash } from '../../executor/native-executor.ts';
import { fromHex, type Hex, toHex } from '../../primitives/hex.ts';
import { toQuantity } from '../../primitives/parse.ts';
import { SourceError } from '../../source/errors.ts';
import type { JsonObject, Lie } from '../../source/interface.ts';
import { withAncestors } from './ancestor-reader.ts';
import type { StateReader } from './reader.ts';

const zero = `0x${'0'.repeat(64)}`;

/** A header as an upstream gives it, of an empty block. */
function header(number: number, parentHash: string): JsonObject & { readonly hash: Hex } {
  const fields = {
    parentHash,
    sha3Uncles: '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347',
    miner: `0x${'0'.repeat(40)}`,
    stateRoot: zero,
    transactionsRoot: zero,
    receiptsRoot: zero,
    logsBloom: `0x${'0'.repeat(512)}`,
    difficulty: '0x0',
    number: toQuantity(number),
    gasLimit: '0x1c9c380',
    gasUsed: '0x0',
    timestamp: toQuantity(1_700_000_000 + number),
    extraData: '0x',
    mixHash: zero,
    nonce: '0x0000000000000000',
  };
  return { ...fields, hash: headerHash(fields) };
}

const chain: (JsonObject & { readonly hash: Hex })[] = [];
for (let number = 0; number <= 10; number++) chain.push(header(number, chain.at(-1)?.hash ?? zero));

/** Block 11 is held here: its header, as far as its parent's hash. */
const at = { number: 11, hash: toHex(Buffer.alloc(32, 11)) };
const heldHeader = Buffer.concat([
  Buffer.from([0xf9, 0x02, 0x00, 0xa0]),
  fromHex(chain[10]?.hash ?? ''),
  Buffer.alloc(479),
]);

function readerOf(answers: readonly (readonly JsonObject[])[]) {
  const lies: Lie[] = [];
  let asked = 0;
  const source = {
    ancestors: async (_: Hex, from: number) => ({
      value: (answers[Math.min(asked++, answers.length - 1)] ?? []).slice(from),
      upstream: 'one',
    }),
    report: (_: string, lie: Lie) => lies.push(lie),
  };
  const store = { canonicalHash: () => at.hash, header: () => heldHeader };
  const read = withAncestors(async (keys) => keys.map(() => ({ value: Uint8Array.of(1), upstream: 'one' })), {
    source,
    store,
  });
  return { read, lies };
}

const keys: readonly StateKey[] = [
  { kind: 'blockHash', number: 10 },
  { kind: 'account', address: new Uint8Array(20) },
  { kind: 'blockHash', number: 7 },
];

describe('hashes below the copy', () => {
  it('come from headers that lead down from a block that is held', async () => {
    const { read, lies } = readerOf([chain]);
    const values = await read(keys, at, undefined);
    expect(values.map(({ value }) => value && toHex(value))).toEqual([
      chain[10]?.hash,
      '0x01',
      chain[7]?.hash,
    ]);
    expect(lies).toEqual([]);
  });

  it.each([
    ['a field changed', chain.map((block, index) => (index === 8 ? { ...block, gasUsed: '0x1' } : block))],
    ['another block', chain.map((block, index) => (index === 9 ? header(9, zero) : block))],
    [
      'a false hash',
      chain.map((block, index) => (index === 7 ? { ...header(7, zero), hash: chain[7]?.hash } : block)),
    ],
  ])('refuse %s, name who said it, and ask on', async (_, lie) => {
    const { read, lies } = readerOf([lie, chain]);
    const values = await read(keys, at, undefined);
    expect(values[2]?.value && toHex(values[2].value)).toBe(chain[7]?.hash);
    expect(lies).toHaveLength(1);
    expect(lies[0]).toMatchObject({ item: at.hash, what: expect.stringContaining('header') });
  });

  describe('that upstreams do not hold', () => {
    const gone = new SourceError(
      { code: 'stateUnavailable', upstream: 'one' },
      'it does not hold all blocks',
    );
    /** The ring of the chain, as far as it is proven: without leading zeros, as stores have it. */
    const readProven = (prove: StateReader) => {
      const source = { ancestors: () => Promise.reject(gone), report: () => {} };
      const store = { canonicalHash: () => at.hash, header: () => heldHeader };
      const read: StateReader = async (asked) => asked.map(() => ({ value: undefined, upstream: undefined }));
      return withAncestors(read, { source, store, prove })([...keys], at, undefined);
    };

    it('are proven by what the chain keeps of them', async () => {
      const asked: string[] = [];
      const values = await readProven(async (slots) =>
        slots.map((key) => {
          if (key.kind !== 'slot') throw new Error('only slots are asked for');
          asked.push(`${toHex(key.address)} ${Number(toHex(key.slot))}`);
          return { value: Uint8Array.of(7, Number(toHex(key.slot))), upstream: 'one' };
        }),
      );
      expect(asked).toEqual([10, 7].map((slot) => `${BLOCK_HASHES} ${slot}`));
      const word = (end: string): string => `0x${end.padStart(64, '0')}`;
      expect(values.map(({ value }) => value && toHex(value))).toEqual([word('70a'), undefined, word('707')]);
    });

    it.each([
      [
        'it has kept nothing',
        async (slots: readonly StateKey[]) => slots.map(() => ({ value: new Uint8Array(), upstream: 'one' })),
      ],
      ['there are no proofs', () => Promise.reject(new SourceError({ code: 'unsupported' }, 'no proofs'))],
    ])('are an error where %s', async (_, prove) => {
      await expect(readProven(prove)).rejects.toMatchObject({ type: { code: 'stateUnavailable' } });
    });
  });

  it('are an error when nobody tells the truth', async () => {
    const { read } = readerOf([chain.map((block) => ({ ...block, gasUsed: '0x1' }))]);
    await expect(read(keys, at, undefined)).rejects.toThrow('no upstream tells the truth');
  });
});
