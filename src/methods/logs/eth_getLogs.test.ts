import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { FakeChain } from '../../../test/support/serve/head.ts';
import { runMethod, testSettings } from '../../../test/support/serve/methods.ts';
import { Snapshot } from '../../head/snapshot.ts';
import type { LogLimits, MethodSettings } from '../method.ts';
import { ethGetLogs } from './eth_getLogs.ts';

type Place = readonly [block: number, index: number];
const A0 = `0x${'00'.repeat(19)}a0`;
const A1 = `0x${'00'.repeat(19)}a1`;
const topic = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`;
const hashOf = (number: number): string => topic(number);

interface Setup {
  readonly chain?: FakeChain;
  readonly compat?: boolean;
  readonly limits?: Partial<LogLimits>;
}

async function logs(filter: unknown, setup: Setup = {}): Promise<readonly Record<string, unknown>[]> {
  const settings: Partial<MethodSettings> = {
    compat: setup.compat ?? false,
    logs: { ...testSettings.logs, ...setup.limits },
  };
  const options = setup.chain === undefined ? { settings } : { settings, chain: setup.chain };
  return (await runMethod(ethGetLogs, [filter], options)) as Record<string, unknown>[];
}

async function places(filter: unknown, setup: Setup = {}): Promise<Place[]> {
  const found = await logs(filter, setup);
  return found.map((log) => [Number(log['blockNumber']), Number(log['logIndex'])]);
}

const refusal = (filter: unknown, setup: Setup = {}): Promise<string> =>
  logs(filter, setup).then(
    () => 'served',
    (error: Error) => error.message,
  );

describe('what is found (A4, A5)', () => {
  it('serves every field of a log', async () => {
    expect((await logs({ fromBlock: '0x2', toBlock: '0x2' }))[1]).toEqual({
      address: A1,
      topics: [topic(1), topic(1)],
      data: topic(2),
      blockNumber: '0x2',
      transactionHash: topic(0x201),
      transactionIndex: '0x1',
      blockHash: hashOf(2),
      blockTimestamp: '0x18',
      logIndex: '0x1',
      removed: false,
    });
  });

  it('defaults to the latest block', async () => {
    expect(await places({})).toEqual([
      [4, 0],
      [4, 1],
      [4, 2],
      [4, 3],
    ]);
    expect(await places({ fromBlock: null, toBlock: null, address: null, topics: null })).toHaveLength(4);
  });

  it('reads ranges in order', async () => {
    expect(await places({ fromBlock: 'earliest', toBlock: '0x2' })).toEqual([
      [1, 0],
      [2, 0],
      [2, 1],
    ]);
    expect(await places({ fromBlock: '0x3', toBlock: 'pending' })).toHaveLength(7);
  });

  it('has nothing in the pre-confirmed block while there is none', async () => {
    expect(await places({ fromBlock: 'pending', toBlock: 'pending' })).toEqual([]);
  });

  it('filters by address and topic, alone and as alternatives', async () => {
    const range = { fromBlock: '0x0', toBlock: '0x3' };
    expect(await places({ ...range, address: A1 })).toEqual([
      [2, 1],
      [3, 1],
    ]);
    expect(await places({ ...range, address: [A0, A1] })).toHaveLength(6);
    expect(await places({ ...range, address: [] })).toHaveLength(6);
    expect(await places({ ...range, topics: [null, topic(2)] })).toEqual([[3, 2]]);
    expect(await places({ ...range, topics: [[], [topic(1), topic(2)]] })).toEqual([
      [2, 1],
      [3, 1],
      [3, 2],
    ]);
    expect(await places({ ...range, topics: [topic(1), [topic(9), null]] })).toHaveLength(6);
    expect(await places({ ...range, topics: [null, null, null] })).toEqual([]);
    expect(await places({ fromBlock: '0x3', toBlock: '0x3', address: A1 })).toEqual([[3, 1]]);
  });

  it('reads a block by hash, whatever range stands beside it', async () => {
    expect(await places({ blockHash: hashOf(2) })).toEqual([
      [2, 0],
      [2, 1],
    ]);
    expect(await places({ blockHash: hashOf(2), fromBlock: '0x63', toBlock: 'nonsense' })).toHaveLength(2);
    expect(await refusal({ blockHash: hashOf(2), fromBlock: '0x1' }, { compat: true })).toBe(
      'invalid argument 0: cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other',
    );
  });

  it('does not take an unknown block for an empty one', async () => {
    await expect(logs({ blockHash: hashOf(99) })).rejects.toMatchObject({
      type: { code: 'BLOCK_NOT_FOUND', block: hashOf(99) },
    });
  });
});

describe('what is refused, in these words (B8)', () => {
  it('a range that is too long', async () => {
    const setup = { limits: { maxBlockRange: { blocks: 3, ms: 0 } } };
    expect(await refusal({ fromBlock: '0x0', toBlock: '0x4' }, setup)).toBe(
      'query exceeds max block range 3: block range too large, maximum allowed is 3 blocks',
    );
    expect(await places({ fromBlock: '0x1', toBlock: '0x4' }, setup)).toHaveLength(10);
  });

  it('a range that is longer than the blocks of a time, which it names as they are now (B18)', async () => {
    const blockTime = vi.spyOn(Snapshot.prototype, 'blockTimeMs');
    const setup = { limits: { maxBlockRange: { blocks: 2, ms: 1_000 } } };
    const query = { fromBlock: '0x0', toBlock: '0x4' };
    for (const [ms, limit] of [
      [400, 3],
      [12_000, 2],
    ]) {
      blockTime.mockReturnValue(ms);
      expect(await refusal(query, setup)).toBe(
        `query exceeds max block range ${limit}: block range too large, maximum allowed is ${limit} blocks`,
      );
    }
    blockTime.mockReturnValue(200);
    expect(await places(query, setup)).toHaveLength(10);
    blockTime.mockRestore();
  });

  it('a bound above the head', async () => {
    const text = 'block range extends beyond current head block';
    expect(await refusal({ fromBlock: '0x1', toBlock: '0x5' })).toBe(
      `${text}: requested 5, head 4 (toBlock greater than latest)`,
    );
    expect(await refusal({ fromBlock: '0x5', toBlock: '0x5' })).toContain('requested 5, head 4');
    expect(await refusal({ fromBlock: '0x1', toBlock: '0x5' }, { compat: true })).toBe(text);
  });

  it.each([
    ['0x3', '0x2'],
    ['latest', '0x1'],
    ['pending', 'latest'],
    ['0x9', '0x8'],
  ])('a range backwards: %s to %s', async (fromBlock, toBlock) => {
    expect(await refusal({ fromBlock, toBlock })).toBe('invalid block range params');
  });

  it('too many results, with a range that works', async () => {
    const setup = { limits: { maxResults: 5 } };
    expect(await refusal({ fromBlock: '0x1', toBlock: 'latest' }, setup)).toBe(
      'query exceeds max results 5, retry with the range 1-2. Try with this block range [0x1, 0x2].',
    );
    expect(await places({ fromBlock: '0x1', toBlock: '0x2' }, setup)).toHaveLength(3);
  });

  it('never a single block for its count', async () => {
    const setup = { limits: { maxResults: 1 } };
    expect(await refusal({ fromBlock: '0x3', toBlock: '0x4' }, setup)).toContain('[0x3, 0x3]');
    expect(await places({ fromBlock: '0x3', toBlock: '0x3' }, setup)).toHaveLength(3);
    expect(await places({ blockHash: hashOf(4) }, setup)).toHaveLength(4);
  });

  it('too many bytes, with a range that works where there is one', async () => {
    const setup = { limits: { maxResponseBytes: 1_024 + 3_500 } };
    expect(await refusal({ fromBlock: '0x1', toBlock: '0x4' }, setup)).toContain(
      'Try with this block range [0x1, 0x3].',
    );
    expect(await places({ fromBlock: '0x1', toBlock: '0x3' }, setup)).toHaveLength(6);
    const tight = { limits: { maxResponseBytes: 1_024 + 1_000 } };
    expect(await refusal({ fromBlock: '0x3', toBlock: '0x4' }, tight)).toContain('block 0x3 alone exceed');
    expect(await refusal({ fromBlock: '0x3', toBlock: '0x3' }, tight)).toContain('block 0x3 alone exceed');
  });

  it('keeps its promise for any limits: the hint starts at the bound, is smaller and is served', async () => {
    const chain = new FakeChain().add(3).add(0).add(5).add(1).add(0).add(2).add(9).add(1);
    for (let maxResults = 1; maxResults < 22; maxResults++) {
      for (let from = 0; from < 8; from++) {
        const setup = { chain, limits: { maxResults } };
        const message = await refusal({ fromBlock: `0x${from}`, toBlock: 'latest' }, setup);
        const hint = /\[(0x[0-9a-f]+), (0x[0-9a-f]+)\]/.exec(message);
        if (hint === null) continue;
        expect(Number(hint[1])).toBe(from);
        expect(Number(hint[2])).toBeLessThan(7);
        expect(await refusal({ fromBlock: hint[1], toBlock: hint[2] }, setup)).toBe('served');
      }
    }
  });
});

describe('a query that takes long', () => {
  /** Nothing here has an address like this. */
  const none = { address: `0x${'99'.repeat(20)}` };
  const ranges = [{ fromBlock: '0x0' }, { fromBlock: '0x1', toBlock: '0x1' }, { blockHash: hashOf(1) }];
  const large = (): FakeChain => new FakeChain().add(0).add(9_000).add(1);

  it.each(ranges)('ends at its time limit, also while nothing matches: %j', async (range) => {
    const settings = { logs: { ...testSettings.logs, timeLimitMs: -1 } };
    await expect(
      runMethod(ethGetLogs, [{ ...range, ...none }], { chain: large(), settings }),
    ).rejects.toMatchObject({ type: { code: 'TIME_LIMIT', what: 'query' } });
  });

  it.each(ranges)('ends when nobody waits for it: %j', async (range) => {
    const signal = AbortSignal.abort();
    await expect(
      runMethod(ethGetLogs, [{ ...range, ...none }], { chain: large(), signal }),
    ).rejects.toMatchObject({ type: { code: 'CANCELLED' } });
  });

  it.each(ranges)('gives others their turn: %j', async (range) => {
    const progress = { done: false };
    let turns = 0;
    const answer = runMethod(ethGetLogs, [range], { chain: large() }).finally(() => {
      progress.done = true;
    });
    for (; !progress.done; turns++) await nextTurn();
    expect(((await answer) as unknown[]).length).toBeGreaterThanOrEqual(9_000);
    expect(turns).toBeGreaterThan(4);
  });
});

describe('bad filters', () => {
  const many = Array.from({ length: 1_001 }, () => A0);
  it.each([
    [{ address: many }, 'exceed max addresses or topics per search position'],
    [
      { topics: [Array.from({ length: 1_001 }, () => topic(1))] },
      'exceed max addresses or topics per search position',
    ],
    [{ topics: [null, null, null, null, null] }, 'invalid argument 0: exceed max topics'],
    [{ address: 5 }, 'invalid argument 0: invalid address: expected a string'],
    [{ address: [A0, '0x12'] }, 'invalid argument 0: invalid address at index 1'],
    [{ topics: 'x' }, 'invalid argument 0: topics: expected an array'],
    [{ topics: [{}] }, 'invalid argument 0: topics[0]: expected a string'],
    [{ topics: ['0x12'] }, 'invalid argument 0: topics[0]: hex string has length 2'],
    [{ blockHash: '0x12' }, 'invalid argument 0: blockHash'],
    [{ fromBlock: { blockNumber: '0x1' } }, 'invalid argument 0: fromBlock'],
    [{ toBlock: '0x01' }, 'invalid argument 0: toBlock: hex number with leading zero digits'],
    ['latest', 'invalid argument 0: expected an object'],
  ])('%j', async (filter, message) => {
    expect(await refusal(filter)).toContain(message);
  });
});
