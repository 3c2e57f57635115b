import { describe, expect, it } from 'vitest';
import type { BlockSelector } from '../primitives/block-selector.ts';
import { parseBlockSelector } from '../primitives/block-selector.ts';
import { FakeChain } from './fixture.ts';

const at = (value: unknown): BlockSelector => parseBlockSelector(value, 'x');
const ALL = { addresses: [], topics: [] };

/** Blocks 0 to 4; safe is 3, finalized 2. */
function chain(): FakeChain {
  const fake = new FakeChain().add(0).add(1).add(2).add(3).add(4);
  const ref = (number: number) => ({ number, hash: fake.canonicalHash(number) ?? '0x' });
  return fake.mark({ safe: ref(3), finalized: ref(2) });
}

describe('Snapshot', () => {
  it.each([
    ['latest', 4],
    ['pending', 4],
    ['safe', 3],
    ['finalized', 2],
    ['earliest', 0],
    ['0x1', 1],
    [{ blockNumber: '0x1' }, 1],
  ])('reads the state at %j from block %i', async (selector, number) => {
    const snapshot = (await chain().head()).snapshot();
    expect((await snapshot.viewAt(at(selector))).ref.number).toBe(number);
  });

  it('finds a block by its hash', async () => {
    const fake = chain();
    const snapshot = (await fake.head()).snapshot();
    const blockHash = fake.canonicalHash(2);
    expect(await snapshot.blockAt(at({ blockHash, requireCanonical: true }))).toEqual({
      number: 2,
      hash: blockHash,
    });
  });

  it('knows nothing above its head, not even what the store has since', async () => {
    const fake = chain();
    const snapshot = (await fake.head()).snapshot();
    fake.add(1);
    expect(await snapshot.blockAt(at('0x5'))).toBeUndefined();
    expect(await snapshot.blockAt(at(fake.canonicalHash(5)))).toBeUndefined();
    expect(() => snapshot.viewAt(at('0x5'))).toThrow(
      expect.objectContaining({ type: { code: 'BLOCK_NOT_FOUND', block: '0x5' } }),
    );
  });

  it('has no pre-confirmed receipts or logs while there is no pre-confirmed block', async () => {
    const snapshot = (await chain().head()).snapshot();
    expect(await snapshot.receiptsAt(at('pending'))).toBeUndefined();
    expect(snapshot.logBound({ kind: 'tag', tag: 'pending' })).toBe(5);
    expect(await snapshot.logsAt(5, ALL)).toBeUndefined();
  });

  it('renders a block once', async () => {
    const snapshot = (await chain().head()).snapshot();
    const first = await snapshot.receiptsAt(at('latest'));
    expect(await snapshot.receiptsAt(at('0x4'))).toBe(first);
    expect(JSON.parse(String(first))).toHaveLength(4);
    const logs = await snapshot.logsAt(4, ALL);
    expect(JSON.parse(String(logs))).toHaveLength(4);
    expect(await snapshot.logsAt(4, ALL)).toBe(logs);
    const other = { addresses: [], topics: [[], [new Uint8Array(32).fill(1, 31)]] };
    expect(JSON.parse(String(await snapshot.logsAt(4, other)))).toHaveLength(1);
  });
});

describe('Head', () => {
  it('keeps its snapshot until it is told to look', async () => {
    const fake = chain();
    const head = await fake.head();
    const before = head.snapshot();
    await head.refresh();
    expect(head.snapshot()).toBe(before);
    fake.add(0);
    expect(head.snapshot()).toBe(before);
    await head.refresh();
    expect(head.snapshot().head.number).toBe(5);
    expect(() => before.assertCurrent()).not.toThrow();
  });

  it('makes older snapshots unusable when the chain is reorganised', async () => {
    const fake = chain();
    const head = await fake.head();
    const before = head.snapshot();
    fake.truncate(2).add(7, 1).add(8, 1).add(9, 1);
    await head.refresh();
    expect(() => before.assertCurrent()).toThrow(expect.objectContaining({ type: { code: 'REORGANISED' } }));
    expect(() => head.snapshot().assertCurrent()).not.toThrow();
  });

  it('never mixes two chains, even before it has heard of a reorganisation', async () => {
    const fake = chain();
    const snapshot = (await fake.head()).snapshot();
    fake.truncate(2).add(7, 1).add(8, 1);
    const reorganised = expect.objectContaining({ type: { code: 'REORGANISED' } });
    expect(() => snapshot.blockAt(at('0x3'))).toThrow(reorganised);
    expect(() => snapshot.viewAt(at('latest'))).toThrow(reorganised);
    const collect = async () => {
      for await (const _ of snapshot.findLogs(ALL, 0, 4));
    };
    await expect(collect()).rejects.toThrow(reorganised);
  });

  it('refuses an empty store', async () => {
    const empty = Object.assign(new FakeChain(), { marks: () => undefined });
    await expect(empty.head()).rejects.toThrow('the store holds no block yet');
  });
});
