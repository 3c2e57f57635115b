import { beforeEach, describe, expect, it } from 'vitest';
import { FakeChain } from '../../../test/support/serve/head.ts';
import { runMethod, testSettings } from '../../../test/support/serve/methods.ts';
import type { Head } from '../../head/head.ts';
import type { LogLimits } from '../method.ts';
import { ethGetLogs } from './eth_getLogs.ts';
import { ethGetLogsWithCursor } from './eth_getLogsWithCursor.ts';

interface Page {
  readonly logs: readonly Record<string, unknown>[];
  readonly cursor?: string;
}

const A1 = `0x${'00'.repeat(19)}a1`;
let chain: FakeChain;
let head: Head;

beforeEach(async () => {
  chain = new FakeChain().add(3).add(0).add(5).add(1).add(0).add(2).add(9).add(1).add(0).add(0);
  head = await chain.head();
});

const settingsOf = (limits: Partial<LogLimits>) => ({
  head,
  settings: { logs: { ...testSettings.logs, maxBlockRange: { blocks: 100, ms: 0 }, ...limits } },
});

const page = async (filter: object, limits: Partial<LogLimits> = {}): Promise<Page> =>
  (await runMethod(ethGetLogsWithCursor, [filter], settingsOf(limits))) as Page;

const whole = (filter: object): Promise<unknown> => runMethod(ethGetLogs, [filter], settingsOf({}));

/** All pages; `between` runs after each but the last. */
async function pages(
  filter: object,
  limits: Partial<LogLimits>,
  between: (count: number) => Promise<void> = () => Promise.resolve(),
): Promise<Page[]> {
  const all = [await page(filter, limits)];
  for (let cursor = all[0]?.cursor; cursor !== undefined; cursor = all.at(-1)?.cursor) {
    await between(all.length);
    all.push(await page({ ...filter, cursor }, limits));
    expect(all.length).toBeLessThan(100);
  }
  return all;
}

const joined = (all: readonly Page[]): unknown[] => all.flatMap(({ logs }) => logs);

/** Adds a flashblock to the pre-confirmed block above the head. */
const flashblock = (index: number, logs: number, first = 0): Promise<void> =>
  head.apply(chain.flashblock({ number: chain.blocks.length, index, first, logs }));

describe('pages (B15)', () => {
  it('give every log once, as eth_getLogs gives them, under any limits', async () => {
    await flashblock(0, 3);
    for (const filter of [
      { fromBlock: '0x0', toBlock: 'latest' },
      { fromBlock: '0x0', toBlock: 'pending' },
      { fromBlock: '0x2', toBlock: '0x6', address: A1 },
      { fromBlock: 'pending', toBlock: 'pending' },
      { blockHash: chain.ref(6).hash },
      {},
    ]) {
      const expected = await whole(filter);
      for (let maxResults = 1; maxResults < 24; maxResults++) {
        for (const blocks of [1, 3, 100]) {
          const all = await pages(filter, { maxResults, maxBlockRange: { blocks, ms: 0 } });
          expect(joined(all)).toEqual(expected);
          // Only what is pre-confirmed alone is more than a page.
          for (const { logs } of all.slice(0, -1)) expect(logs.length).toBeLessThanOrEqual(maxResults);
        }
      }
      for (const maxResponseBytes of [3_600, 5_000, 9_000]) {
        expect(joined(await pages(filter, { maxResponseBytes }))).toEqual(expected);
      }
    }
  });

  it('are one and have no cursor where everything fits', async () => {
    expect(await page({ fromBlock: '0x0' })).toEqual({ logs: await whole({ fromBlock: '0x0' }) });
    expect(await page({ fromBlock: '0x9' })).toEqual({ logs: [] });
  });

  it('go on to where the chain has come to meanwhile, pre-confirmed logs with the last', async () => {
    const filter = { fromBlock: '0x0', toBlock: 'pending' };
    await flashblock(0, 2);
    const all = await pages(filter, { maxResults: 4 }, async (count) => {
      if (count === 2) await flashblock(1, 2, 2);
      if (count !== 3) return;
      chain.add(4);
      await head.apply({ kind: 'confirmed', removed: [], added: [] });
      await flashblock(0, 6);
    });
    expect(joined(all)).toEqual(await whole(filter));
    expect(all.at(-1)?.logs.map(({ blockHash }) => blockHash)).toEqual(
      Array.from({ length: 6 }, () => `0x${'0'.repeat(64)}`),
    );
  });

  it('end without a log where what was pre-confirmed is gone', async () => {
    const filter = { fromBlock: '0x0', toBlock: 'pending' };
    await flashblock(0, 3);
    const all = await pages(filter, { maxResults: 21 }, () =>
      head.apply({ kind: 'dropped', from: 10, reason: 'gap', version: undefined }),
    );
    expect(all.map(({ logs }) => logs.length)).toEqual([21, 0]);
    expect(joined(all)).toEqual(await whole(filter));
  });
});

describe('a reorg between pages (B15)', () => {
  const reorg = async (last: number): Promise<void> => {
    const { length } = chain.blocks;
    chain.truncate(last);
    while (chain.blocks.length < length + 1) chain.add(2, 7);
    await head.refresh();
  };

  it.each([5, 8, 9])(
    'below the cursor is -32001, in the middle of a block and between two: %d logs',
    async (maxResults) => {
      const { cursor } = await page({ fromBlock: '0x0' }, { maxResults });
      expect(cursor).toBeDefined();
      await reorg(1);
      await expect(page({ fromBlock: '0x0', cursor }, { maxResults })).rejects.toMatchObject({
        type: { code: 'BLOCK_NOT_FOUND' },
      });
    },
  );

  it('above the cursor gives the logs of the chain as it is', async () => {
    const filter = { fromBlock: '0x0' };
    const all = await pages(filter, { maxResults: 4 }, (count) =>
      count === 1 ? reorg(3) : Promise.resolve(),
    );
    expect(joined(all)).toEqual(await whole(filter));
  });

  it('during a page ends it with an error that is run again', async () => {
    const find = chain.findLogs.bind(chain);
    chain.findLogs = async function* findLogs(...query) {
      for await (const match of find(...query)) {
        yield match;
        if (match.block.number === 5) chain.truncate(5).add(9, 7);
      }
    };
    await expect(page({ fromBlock: '0x0' }, { maxResults: 12 })).rejects.toMatchObject({
      type: { code: 'REORGANISED' },
    });
  });
});

describe('what is refused', () => {
  const refusal = (filter: object, limits: Partial<LogLimits> = {}): Promise<string> =>
    page(filter, limits).then(
      () => 'served',
      (error: Error) => error.message,
    );

  it('a cursor that is none, or of another filter', async () => {
    const { cursor = '' } = await page({ fromBlock: '0x0' }, { maxResults: 1 });
    for (const wrong of [5, 'x', '0x', cursor.toUpperCase(), `${cursor}00`, `0x02${cursor.slice(4)}`]) {
      expect(await refusal({ fromBlock: '0x0', cursor: wrong })).toContain('invalid argument 0: cursor');
    }
    expect(await refusal({ fromBlock: '0x0', address: A1, cursor })).toContain('of another address');
    expect(await refusal({ blockHash: chain.ref(2).hash, cursor })).toContain('of another address');
    expect(await refusal({ fromBlock: '0x0', cursor: null })).toBe('served');
  });

  it('what eth_getLogs refuses, but for the length of the range (B8)', async () => {
    expect(await refusal({ fromBlock: '0x5', toBlock: '0x4' })).toBe('invalid block range params');
    expect(await refusal({ fromBlock: '0x0', toBlock: '0x63' })).toContain('beyond current head block');
    expect(await refusal({ fromBlock: '0x0' }, { maxBlockRange: { blocks: 2, ms: 0 } })).toBe('served');
    expect(await refusal({ fromBlock: '0x0' }, { maxResponseBytes: 1_100 })).toContain('alone exceed');
    expect(await refusal({ fromBlock: '0x0' }, { timeLimitMs: -1 })).toBe('TIME_LIMIT');
  });
});
