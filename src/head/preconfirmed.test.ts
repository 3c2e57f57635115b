import { beforeEach, describe, expect, it } from 'vitest';
import { FakeChain } from '../../test/support/serve/head.ts';
import { type BlockSelector, parseBlockSelector } from '../primitives/block-selector.ts';
import type { Hex } from '../primitives/hex.ts';
import { receiptsOf } from './block-answers.ts';
import type { Head } from './head.ts';

const PENDING: BlockSelector = parseBlockSelector('pending', 'x');
const ALL = { addresses: [], topics: [] };
const ZERO_HASH: Hex = `0x${'0'.repeat(64)}`;

let chain: FakeChain;
let head: Head;

/** What `pending` is: block and flashblock, by header and by state. */
async function pending(): Promise<string> {
  const snapshot = head.snapshot();
  const newest = snapshot.pending?.newest;
  const nonce = await (await snapshot.viewAt(PENDING)).transactionCount('0x');
  return newest === undefined ? `none, nonce ${nonce}` : `${newest.number};${newest.index}, nonce ${nonce}`;
}

async function logs(
  from: BlockSelector & { kind: 'tag' | 'number' },
): Promise<readonly Record<string, unknown>[]> {
  const snapshot = head.snapshot();
  const to = snapshot.logBound({ kind: 'tag', tag: 'pending' }, 'to');
  const found: Record<string, unknown>[] = [];
  for await (const { block, indexes } of snapshot.findLogs(ALL, snapshot.logBound(from, 'from'), to)) {
    for (const index of indexes) found.push(JSON.parse(block.log(index)) as Record<string, unknown>);
  }
  return found;
}

const places = async (from: BlockSelector & { kind: 'tag' | 'number' }): Promise<string[]> =>
  (await logs(from)).map(
    (log) => `${Number(log['blockNumber'])}:${Number(log['transactionIndex'])}:${Number(log['logIndex'])}`,
  );

const receipts = async (): Promise<readonly Record<string, unknown>[] | null> => {
  const json = await receiptsOf(head.snapshot(), PENDING);
  return JSON.parse(json?.toString() ?? 'null') as Record<string, unknown>[] | null;
};

beforeEach(async () => {
  chain = new FakeChain().add(1).add(2).add(3);
  head = await chain.head();
});

/** Blocks 3 and 4 are pre-confirmed, the first with two flashblocks. */
async function preconfirm(): Promise<Hex> {
  await head.apply(chain.flashblock({ number: 3, index: 0 }));
  const last = chain.flashblock({ number: 3, index: 1, first: 1, logs: 2 });
  await head.apply(last);
  const parentHash = last.flashblock.outcome.hash;
  await head.apply(chain.flashblock({ number: 4, index: 0, parentHash }));
  return parentHash;
}

describe('pending (B6)', () => {
  it('is latest while nothing is pre-confirmed', async () => {
    expect(await pending()).toBe('none, nonce 0x2');
    expect(await places({ kind: 'tag', tag: 'pending' })).toEqual([]);
    expect(await receipts()).toMatchObject([2, 2, 2].map(() => ({ blockNumber: '0x2' })));
  });

  it('grows with each flashblock: state, logs and receipts together', async () => {
    await head.apply(chain.flashblock({ number: 3, index: 0 }));
    expect(await pending()).toBe('3;0, nonce 0x1');
    expect(await places({ kind: 'tag', tag: 'pending' })).toEqual(['3:0:0']);
    const before = head.snapshot();
    await head.apply(chain.flashblock({ number: 3, index: 1, first: 1, logs: 2 }));
    expect(await pending()).toBe('3;1, nonce 0x2');
    expect(await places({ kind: 'number', number: 2, hex: '0x2' })).toEqual([
      ...['2:0:0', '2:1:1', '2:2:2'],
      ...['3:0:0', '3:1:1', '3:2:2'],
    ]);
    expect((await receipts())?.map(({ transactionIndex }) => transactionIndex)).toEqual([
      '0x0',
      '0x1',
      '0x2',
    ]);
    // A snapshot that was taken stays what it was (B1).
    expect(before.pending?.newest.length).toBe(1);
  });

  it('has a real number and time, and a zero hash', async () => {
    await preconfirm();
    const [log] = await logs({ kind: 'tag', tag: 'pending' });
    expect(log).toMatchObject({ blockNumber: '0x3', blockTimestamp: '0x24', blockHash: ZERO_HASH });
    const [receipt] = (await receipts()) ?? [];
    expect(receipt).toMatchObject({ blockNumber: '0x4', blockHash: ZERO_HASH });
  });

  it('is the newest of several blocks, and a range takes in all of them', async () => {
    await preconfirm();
    expect(await pending()).toBe('4;0, nonce 0x3');
    expect(await places({ kind: 'tag', tag: 'pending' })).toEqual(['3:0:0', '3:1:1', '3:2:2', '4:0:0']);
    expect(await receipts()).toHaveLength(1);
  });

  it('loses the blocks that are confirmed as they were, and keeps those on top', async () => {
    const hash = await preconfirm();
    chain.add(3).rename(hash);
    await head.apply({ kind: 'confirmed', removed: [], added: [] });
    expect(head.snapshot().head.hash).toBe(hash);
    expect(await pending()).toBe('4;0, nonce 0x3');
    expect(await places({ kind: 'tag', tag: 'pending' })).toEqual(['4:0:0']);
  });

  it('stacks blocks whose hash nobody knows, and goes by what the one above says', async () => {
    const hash: Hex = `0x${'5a'.repeat(32)}`;
    const hashless = (event: ReturnType<FakeChain['flashblock']>): typeof event => ({
      ...event,
      flashblock: {
        ...event.flashblock,
        outcome: { ...event.flashblock.outcome, hash: ZERO_HASH },
      },
    });
    await head.apply(hashless(chain.flashblock({ number: 3, index: 0 })));
    await head.apply(hashless(chain.flashblock({ number: 4, index: 0, parentHash: hash })));
    expect(await places({ kind: 'tag', tag: 'pending' })).toEqual(['3:0:0', '4:0:0']);
    chain.add(3).rename(hash);
    await head.apply({ kind: 'confirmed', removed: [], added: [] });
    expect(await places({ kind: 'tag', tag: 'pending' })).toEqual(['4:0:0']);
    // Sealed under another hash than was said.
    await head.apply(hashless(chain.flashblock({ number: 5, index: 0, parentHash: hash })));
    chain.add(4);
    await head.apply({ kind: 'confirmed', removed: [], added: [] });
    expect(head.snapshot().pending).toBeUndefined();
  });

  it('keeps a block that is sealed and still being written, whatever the next one was executed on', async () => {
    const parentHash = await preconfirm();
    await head.apply(chain.flashblock({ number: 4, index: 1, first: 1, parentHash }));
    expect(await pending()).toBe('4;1, nonce 0x4');
    expect(await places({ kind: 'tag', tag: 'pending' })).toEqual([
      ...['3:0:0', '3:1:1', '3:2:2'],
      ...['4:0:0', '4:1:1'],
    ]);
  });

  it('is never older than latest, whatever was pre-confirmed', async () => {
    await preconfirm();
    chain.add(0);
    await head.apply({ kind: 'confirmed', removed: [], added: [] });
    expect(await pending()).toBe('none, nonce 0x3');
    chain.add(0);
    await head.apply({ kind: 'confirmed', removed: [], added: [] });
    expect(await pending()).toBe('none, nonce 0x4');
  });

  it('goes when the block below it is replaced', async () => {
    await preconfirm();
    chain.truncate(1).add(3, 1);
    await head.apply({ kind: 'confirmed', removed: [], added: [] });
    expect(await pending()).toBe('none, nonce 0x2');
  });

  it('starts over with another payload, which takes the place of all from its number on', async () => {
    await preconfirm();
    await head.apply(chain.flashblock({ number: 3, index: 0, payloadId: 'b' }));
    expect(await pending()).toBe('3;0, nonce 0x4');
    expect(await places({ kind: 'tag', tag: 'pending' })).toEqual(['3:0:0']);
  });

  it('is what is left when blocks are dropped', async () => {
    await preconfirm();
    await head.apply({ kind: 'dropped', from: 4, reason: 'gap', version: 2 });
    expect(await pending()).toBe('3;1, nonce 0x2');
    await head.apply({ kind: 'dropped', from: 3, reason: 'gap', version: undefined });
    expect(await pending()).toBe('none, nonce 0x2');
  });

  it('is nothing while its state cannot be read any more: the next one is on its way', async () => {
    const event = chain.flashblock({ number: 3, index: 0 });
    chain.versions.delete(event.flashblock.version);
    await head.apply(event);
    expect(await pending()).toBe('none, nonce 0x2');
    await head.apply(chain.flashblock({ number: 3, index: 1, first: 1 }));
    expect(await places({ kind: 'tag', tag: 'pending' })).toEqual(['3:0:0', '3:1:1']);
  });

  it('never shows a block whose beginning is not known', async () => {
    await head.apply(chain.flashblock({ number: 3, index: 1, first: 1 }));
    expect(await pending()).toBe('none, nonce 0x2');
    await head.apply(chain.flashblock({ number: 3, index: 0, payloadId: 'b' }));
    await head.apply(chain.flashblock({ number: 3, index: 1, first: 1, payloadId: 'c' }));
    expect(await pending()).toBe('none, nonce 0x2');
  });

  it('is forgotten when another copy begins', async () => {
    await preconfirm();
    await head.apply({ kind: 'anchored' });
    expect(await pending()).toBe('none, nonce 0x2');
  });
});

it('says when a flashblock is reached, or its block confirmed (B3)', async () => {
  const { signal } = new AbortController();
  const [first, later, confirmed] = [
    head.reached({ number: 3, index: 1 }, 60_000, signal),
    head.reached({ number: 4, index: 0 }, 60_000, signal),
    head.reached({ number: 3 }, 60_000, signal),
  ];
  const reached: string[] = [];
  void first.then(() => reached.push('3;1'));
  void later.then(() => reached.push('4;0'));
  void confirmed.then(() => reached.push('3'));
  await head.apply(chain.flashblock({ number: 3, index: 0 }));
  expect(reached).toEqual([]);
  await preconfirm();
  expect(reached).toEqual(['3;1', '4;0']);
  chain.add(0);
  await head.apply({ kind: 'confirmed', removed: [], added: [] });
  expect(await confirmed).toBe(true);
});

describe('what a pre-confirmed state holds', () => {
  const holders = (): readonly number[] => [...chain.versions.values()].map((view) => view.holders);

  it('is given back when the next one takes its place', async () => {
    const parentHash = await preconfirm();
    expect(holders()).toEqual([0, 0, 1]);
    // Confirming a block leaves the state of those above as it is.
    chain.add(3).rename(parentHash);
    await head.apply({ kind: 'confirmed', removed: [], added: [] });
    expect([await pending(), holders()]).toEqual(['4;0, nonce 0x3', [0, 0, 1]]);
    await head.apply({ kind: 'dropped', from: 4, reason: 'gap', version: undefined });
    expect([await pending(), holders()]).toEqual(['none, nonce 0x3', [0, 0, 0]]);
  });

  it('stays until the last one who reads it is done', async () => {
    await head.apply(chain.flashblock({ number: 3, index: 0 }));
    const gate = Promise.withResolvers<void>();
    const read = (): Promise<Hex> =>
      head.read(async (snapshot) => {
        await gate.promise;
        return (await snapshot.viewAt(PENDING)).transactionCount('0x');
      });
    const failed = head.read(() => gate.promise.then(() => Promise.reject(new Error('no'))));
    const reads = [read(), read()];
    await head.apply(chain.flashblock({ number: 3, index: 1, first: 1 }));
    await head.apply({ kind: 'anchored' });
    expect(holders()).toEqual([3, 0]);
    gate.resolve();
    expect(await Promise.all(reads)).toEqual(['0x1', '0x1']);
    await expect(failed).rejects.toThrow('no');
    expect(holders()).toEqual([0, 0]);
  });
});
