import { beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeChain } from '../../test/support/serve/head.ts';
import { parseBlockSelector } from '../primitives/block-selector.ts';
import { type Hex, ZERO_HASH } from '../primitives/hex.ts';
import {
  blockOf,
  headerOf,
  rawBlockOf,
  rawReceiptsOf,
  rawTransactionOf,
  receiptOf,
  transactionAt,
  transactionCountOf,
  transactionOf,
} from './block-answers.ts';
import type { Head } from './head.ts';

const at = (selector: unknown) => parseBlockSelector(selector, 'x');
/** Of transaction `index` of block `number`, as the fake chain has it. */
const hashOf = (number: number, index: number): Hex =>
  `0x${number.toString(16).padStart(62, '0')}${index.toString(16).padStart(2, '0')}`;

let chain: FakeChain;
let head: Head;
beforeEach(async () => {
  chain = new FakeChain().add(1).add(2).add(3);
  head = await chain.head();
});

async function parsed(json: unknown): Promise<unknown> {
  return JSON.parse(String(await json)) as unknown;
}

describe('answers about a block (B12)', () => {
  it('lists transactions whole or by hash, with the hash of the block', async () => {
    const snapshot = head.snapshot();
    const { hash } = chain.ref(1);
    expect(await parsed(blockOf(snapshot, at('0x1'), 'hashes'))).toEqual({
      ...{ pieces: 1, hash },
      transactions: [hashOf(1, 0), hashOf(1, 1)],
    });
    expect(await parsed(blockOf(snapshot, at('0x1'), 'whole'))).toMatchObject({
      transactions: [0, 1].map((index) => ({ hash: hashOf(1, index), index, blockHash: hash })),
    });
    expect(await transactionCountOf(snapshot, at('0x1'))).toBe(2);
    expect(await parsed(transactionAt(snapshot, at('0x1'), 1))).toEqual({
      ...{ hash: hashOf(1, 1), index: 1, blockHash: hash },
    });
    expect(await transactionAt(snapshot, at('0x1'), 2)).toBeUndefined();
    for (const answer of [
      blockOf(snapshot, at('0x9'), 'whole'),
      headerOf(snapshot, at('0x9')),
      transactionCountOf(snapshot, at('0x9')),
      rawBlockOf(snapshot, at('0x9')),
    ]) {
      expect(await answer).toBeUndefined();
    }
  });

  it('decodes no receipts for a header', async () => {
    const receipts = vi.spyOn(chain, 'receipts');
    expect(await parsed(headerOf(head.snapshot(), at('0x2')))).toEqual({ number: 2 });
    expect(receipts).not.toHaveBeenCalled();
  });

  it('reads a block once for all of its transactions and receipts, and gives the same again', async () => {
    const snapshot = head.snapshot();
    const read = vi.spyOn(chain, 'receipts');
    const ask = async (): Promise<unknown> => [
      await parsed(transactionOf(snapshot, hashOf(2, 0))),
      await parsed(transactionOf(snapshot, hashOf(2, 1))),
      await parsed(receiptOf(snapshot, hashOf(2, 1))),
      await parsed(blockOf(snapshot, at('0x2'), 'whole')),
      await parsed(blockOf(snapshot, at('0x2'), 'hashes')),
    ];
    expect(await ask()).toEqual(await ask());
    expect(read).toHaveBeenCalledTimes(1);
  });

  it('gives a pre-confirmed one a hash of zero, and its transactions the same (B6)', async () => {
    await head.apply(chain.flashblock({ number: 3, index: 0 }));
    await head.apply(chain.flashblock({ number: 3, index: 1, first: 1, logs: 2 }));
    const snapshot = head.snapshot();
    expect(await parsed(blockOf(snapshot, at('pending'), 'whole'))).toMatchObject({
      ...{ pieces: 2, hash: ZERO_HASH },
      transactions: [0, 1, 2].map((index) => ({ index, blockHash: ZERO_HASH })),
    });
    expect(await parsed(headerOf(snapshot, at('pending')))).toMatchObject({ hash: ZERO_HASH });
    expect(await transactionCountOf(snapshot, at('pending'))).toBe(3);
    expect(await parsed(transactionAt(snapshot, at('pending'), 2))).toMatchObject({ index: 2 });
    expect(await transactionAt(snapshot, at('pending'), 3)).toBeUndefined();
    expect(await rawReceiptsOf(snapshot, at('pending'))).toHaveLength(1);
  });

  it('is of latest while nothing is pre-confirmed', async () => {
    const snapshot = head.snapshot();
    const whole = await blockOf(snapshot, at('pending'), 'whole');
    expect(whole).toBe(await blockOf(snapshot, at('latest'), 'whole'));
  });
});

describe('answers about a transaction (B12)', () => {
  it('are of the confirmed chain and of pre-confirmed blocks', async () => {
    await head.apply(chain.flashblock({ number: 3, index: 0 }));
    const snapshot = head.snapshot();
    const { hash } = chain.ref(2);
    expect(await parsed(transactionOf(snapshot, hashOf(2, 1)))).toMatchObject({ index: 1, blockHash: hash });
    expect(await parsed(receiptOf(snapshot, hashOf(2, 1)))).toMatchObject({ blockHash: hash });
    expect(await rawTransactionOf(snapshot, hashOf(2, 1))).toBe('0x0201');
    expect(await parsed(transactionOf(snapshot, hashOf(3, 0)))).toMatchObject({ blockHash: ZERO_HASH });
    expect(await parsed(receiptOf(snapshot, hashOf(3, 0)))).toMatchObject({ blockHash: ZERO_HASH });
    expect(await rawTransactionOf(snapshot, hashOf(3, 0))).toBe('0x00');
    expect(await transactionOf(snapshot, hashOf(7, 0))).toBeUndefined();
  });

  it('are not of a block above the snapshot (B1)', async () => {
    const snapshot = head.snapshot();
    chain.add(1);
    expect(await receiptOf(snapshot, hashOf(3, 0))).toBeUndefined();
    await head.apply({ kind: 'confirmed', removed: [], added: [] });
    expect(await receiptOf(head.snapshot(), hashOf(3, 0))).toBeDefined();
  });

  it('are refused once the chain has left the snapshot', async () => {
    const snapshot = head.snapshot();
    chain.truncate(1).add(1, 1).add(1, 1);
    const reorganised = { type: { code: 'REORGANISED' } };
    await expect(async () => receiptOf(snapshot, hashOf(2, 0))).rejects.toMatchObject(reorganised);
    await expect(async () => receiptOf(snapshot, hashOf(3, 0))).rejects.toMatchObject(reorganised);
    await expect(async () => receiptOf(snapshot, hashOf(9, 0))).rejects.toMatchObject(reorganised);
  });

  it('are never a guess while older blocks are not indexed', async () => {
    chain.indexedFrom = 2;
    const snapshot = head.snapshot();
    expect(await receiptOf(snapshot, hashOf(2, 0))).toBeDefined();
    await expect(async () => receiptOf(snapshot, hashOf(1, 0))).rejects.toMatchObject({
      type: { code: 'NOT_INDEXED', above: '0x2' },
    });
  });
});
