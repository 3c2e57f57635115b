import { describe, expect, it, vi } from 'vitest';
import { FakeChain } from '../../test/support/serve/head.ts';
import type { BlockSelector } from '../primitives/block-selector.ts';
import { parseBlockSelector } from '../primitives/block-selector.ts';
import { StoreError } from '../store/error.ts';
import { receiptsOf } from './block-answers.ts';

const at = (value: unknown): BlockSelector => parseBlockSelector(value, 'x');
const ALL = { addresses: [], topics: [] };

/** Blocks 0 to 4; safe is 3, finalized 2. */
function chain(): FakeChain {
  const fake = new FakeChain().add(0).add(1).add(2).add(3).add(4);
  return fake.mark({ safe: fake.ref(3), finalized: fake.ref(2) });
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

  it('has the receipts of latest and no logs as pending while there is no pre-confirmed block (B6)', async () => {
    const snapshot = (await chain().head()).snapshot();
    expect(await receiptsOf(snapshot, at('pending'))).toBe(await receiptsOf(snapshot, at('latest')));
    expect(snapshot.logBound({ kind: 'tag', tag: 'pending' }, 'to')).toBe(5);
    expect(await snapshot.logsAt(5, ALL)).toBeUndefined();
  });

  it('renders a block once', async () => {
    const snapshot = (await chain().head()).snapshot();
    const first = await receiptsOf(snapshot, at('latest'));
    expect(await receiptsOf(snapshot, at('0x4'))).toBe(first);
    expect(JSON.parse(String(first))).toHaveLength(4);
    const logs = await snapshot.logsAt(4, ALL);
    expect(JSON.parse(String(logs))).toHaveLength(4);
    expect(await snapshot.logsAt(4, ALL)).toBe(logs);
    const other = { addresses: [], topics: [[], [new Uint8Array(32).fill(1, 31)]] };
    expect(JSON.parse(String(await snapshot.logsAt(4, other)))).toHaveLength(1);
  });
});

describe('what is held in part', () => {
  /** Blocks from 1, state from 3. */
  function partial(): FakeChain {
    const fake = chain();
    return fake.mark({ lowest: fake.ref(1), anchor: fake.ref(3) });
  }
  const codeOf = (type: unknown): unknown => expect.objectContaining({ type });

  it('begins with the lowest block, which is the earliest (B5)', async () => {
    const snapshot = (await partial().head()).snapshot();
    expect(await snapshot.blockAt(at('earliest'))).toMatchObject({ number: 1 });
    expect(snapshot.logBound({ kind: 'tag', tag: 'earliest' }, 'from')).toBe(1);
    expect(await snapshot.blockAt(at('0x0'))).toBeUndefined();
    expect(JSON.parse(String(await receiptsOf(snapshot, at('earliest'))))).toHaveLength(1);
    expect(await receiptsOf(snapshot, at('0x0'))).toBeUndefined();
  });

  it('has logs from there, and never some of those asked for (B2)', async () => {
    const snapshot = (await partial().head()).snapshot();
    const notFound = codeOf({ code: 'BLOCK_NOT_FOUND', block: '0x0', lowest: '0x1' });
    expect(() => snapshot.logsAt(0, ALL)).toThrow(notFound);
    await expect(snapshot.findLogs(ALL, 0, 4).next()).rejects.toThrow(notFound);
    expect((await snapshot.findLogs(ALL, 1, 4).next()).done).toBe(false);
  });

  it('has state from the anchor on, or from elsewhere (B2)', async () => {
    const snapshot = (await partial().head()).snapshot();
    const notHeld = codeOf({ code: 'STATE_NOT_HELD', block: '0x2', lowest: '0x3' });
    expect(() => snapshot.viewAt(at('0x2'))).toThrow(notHeld);
    expect(() => snapshot.viewAt(at(partial().canonicalHash(2)))).toThrow(notHeld);
    expect(() => snapshot.viewAt(at('earliest'))).toThrow(
      codeOf({ code: 'STATE_NOT_HELD', block: '0x1', lowest: '0x3' }),
    );
    expect((await snapshot.viewAt(at('0x3'))).ref.number).toBe(3);
    const archive = (await partial().head(undefined, { stateBelowAnchor: true })).snapshot();
    expect((await archive.viewAt(at('0x2'))).ref.number).toBe(2);
    expect(() => archive.viewAt(at('0x0'))).toThrow(
      codeOf({ code: 'BLOCK_NOT_FOUND', block: '0x0', lowest: '0x1' }),
    );
  });

  it('may begin elsewhere in the next snapshot', async () => {
    const fake = partial();
    const head = await fake.head();
    fake.mark({ lowest: fake.ref(0), anchor: fake.ref(3) });
    await head.refresh();
    expect(await head.snapshot().blockAt(at('earliest'))).toMatchObject({ number: 0 });
  });

  it('is read anew when the store forgets it meanwhile', async () => {
    const findLogs = (): AsyncGenerator<never, void, void> => {
      throw new StoreError('outOfRange', 'pruned');
    };
    const fake = Object.assign(chain(), { findLogs });
    const snapshot = (await fake.head()).snapshot();
    await expect(snapshot.findLogs(ALL, 0, 4).next()).rejects.toThrow(codeOf({ code: 'REORGANISED' }));
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

  it('never mixes two chains, even before it has heard of a reorg', async () => {
    const fake = chain();
    const snapshot = (await fake.head()).snapshot();
    fake.truncate(2).add(7, 1).add(8, 1);
    const reorganised = expect.objectContaining({ type: { code: 'REORGANISED' } });
    expect(() => snapshot.blockAt(at('0x3'))).toThrow(reorganised);
    expect(() => snapshot.viewAt(at('latest'))).toThrow(reorganised);
    expect(() => snapshot.blockAt(at(chain().canonicalHash(4)))).not.toThrow();
    expect(() => snapshot.blockAt(at(chain().canonicalHash(3)))).toThrow(reorganised);
    const collect = async () => {
      for await (const _ of snapshot.findLogs(ALL, 0, 4));
    };
    await expect(collect()).rejects.toThrow(reorganised);
  });

  it('never reads marks twice at a time, and always once more for who asks late', async () => {
    const fake = chain();
    const head = await fake.head();
    const gates: PromiseWithResolvers<void>[] = [];
    const marksNow = fake.marks.bind(fake);
    const slow = {
      marks: async () => {
        const marks = marksNow();
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        await gate.promise;
        return marks;
      },
    };
    Object.assign(fake, slow);
    const first = head.refresh();
    fake.add(0);
    const second = head.refresh();
    expect(head.refresh()).toBe(second);
    expect(gates).toHaveLength(1);
    gates[0]?.resolve();
    await first;
    expect(head.snapshot().head.number).toBe(4);
    await vi.waitFor(() => expect(gates).toHaveLength(2));
    gates[1]?.resolve();
    await second;
    expect(head.snapshot().head.number).toBe(5);
  });

  it('can be looked at again after a reading that failed', async () => {
    const fake = chain();
    const head = await fake.head();
    const { marks } = fake;
    fake.marks = () => {
      throw new Error('disk');
    };
    const both = [head.refresh(), head.refresh()];
    await expect(both[0]).rejects.toThrow('disk');
    await expect(both[1]).rejects.toThrow('disk');
    fake.marks = marks;
    fake.add(0);
    await head.refresh();
    expect(head.snapshot().head.number).toBe(5);
  });

  it('says when a block is reached, to each who waits for it or less (B3)', async () => {
    const fake = chain();
    const head = await fake.head();
    const { signal } = new AbortController();
    expect(await head.reached({ number: 4 }, 60_000, signal)).toBe(true);
    const ended: string[] = [];
    const waits = [5, 6, 7].map(async (number) => {
      if (await head.reached({ number }, 60_000, signal)) ended.push(`${number}`);
    });
    fake.add(0).add(0);
    await head.refresh();
    await Promise.all(waits.slice(0, 2));
    expect(ended).toEqual(['5', '6']);
    fake.add(0);
    await head.refresh();
    await waits[2];
    expect(ended).toEqual(['5', '6', '7']);
  });

  it('ends a wait with its time or its client (B3)', async () => {
    const head = await chain().head();
    expect(await head.reached({ number: 5 }, 1, new AbortController().signal)).toBe(false);
    expect(await head.reached({ number: 5 }, 0, new AbortController().signal)).toBe(false);
    expect(await head.reached({ number: 5 }, 60_000, AbortSignal.abort())).toBe(false);
    const client = new AbortController();
    const waiting = head.reached({ number: 5 }, 60_000, client.signal);
    client.abort();
    expect(await waiting).toBe(false);
  });

  it('leaves nothing behind of a wait', async () => {
    vi.useFakeTimers();
    try {
      const fake = chain();
      const head = await fake.head();
      const { signal } = new AbortController();
      const remove = vi.spyOn(signal, 'removeEventListener');
      const waiting = head.reached({ number: 5 }, 60_000, signal);
      expect(vi.getTimerCount()).toBe(1);
      fake.add(0);
      await head.refresh();
      expect(await waiting).toBe(true);
      expect(vi.getTimerCount()).toBe(0);
      expect(remove).toHaveBeenCalledOnce();
    } finally {
      vi.useRealTimers();
    }
  });

  it('refuses an empty store', async () => {
    const empty = Object.assign(new FakeChain(), { marks: () => undefined });
    await expect(empty.head()).rejects.toThrow('the store holds no block yet');
  });
});
