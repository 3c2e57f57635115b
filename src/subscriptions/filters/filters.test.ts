import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { FAKE_RENDER } from '../../../test/support/serve/head.ts';
import {
  command,
  GENESIS,
  HeldLogs,
  UNDO_WINDOW,
  World,
  withoutHash,
} from '../../../test/support/serve/subscription-world.ts';
import {
  confirmed,
  flashblockEvent,
  hashOf,
  makeBlock,
  removed,
} from '../../../test/support/serve/subscriptions.ts';
import type { FeedEvent } from '../../feed/interface.ts';
import { BlockJson } from '../../head/block-json.ts';
import type { FilterAnswer, FilterCriteria } from '../../methods/filters/host.ts';
import { ZERO_HASH } from '../../primitives/hex.ts';
import { Ledger } from '../streams/ledger.ts';
import { TransactionStack } from '../streams/transaction-stack.ts';
import { Filters, type FiltersOptions } from './filters.ts';
import type { FilterMetrics } from './metrics.ts';
import { FilterVersion } from './version.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const ALL: FilterCriteria = { kind: 'logs', filter: {} };
const PENDING: FilterCriteria = { kind: 'logs', filter: { toBlock: 'pending' } };
const LIMITS = { maxResults: 1_000, maxBytes: 1 << 20 };
const json = new BlockJson(FAKE_RENDER);

function start(options: Partial<FiltersOptions> = {}) {
  const ledger = new Ledger({ undoWindow: UNDO_WINDOW }, GENESIS);
  const clock = { now: 0 };
  const version = new FilterVersion();
  const metrics = {
    watch: vi.fn<FilterMetrics['watch']>(),
    ended: vi.fn<FilterMetrics['ended']>(),
    refused: vi.fn<FilterMetrics['refused']>(),
  };
  const filters = new Filters(
    { maxFilters: 100, maxPerClient: 50, timeoutMs: 1_000, maxBytes: 1 << 20, ...options },
    {
      ...{ ledger, metrics, version },
      transactions: () => new TransactionStack({ undoWindow: UNDO_WINDOW }, { ledger, json }),
      now: () => clock.now,
    },
  );
  const publish = (event: FeedEvent): void => filters.take(ledger.apply(event));
  const create = async (criteria: FilterCriteria, client = 'one'): Promise<string> => {
    const answer = await filters.ask({ op: 'create', criteria, client });
    return answer.kind === 'created' ? answer.filter : answer.kind;
  };
  /** Who knows that there is nothing new is right. */
  const poll = async (filter: string, limits = LIMITS): Promise<FilterAnswer> => {
    const nothingNew = filters.hasNothingNew(filter);
    const answer = await filters.ask({ op: 'poll', filter, limits });
    if (nothingNew) expect(answer).toMatchObject({ kind: 'changes', json: '[]' });
    return answer;
  };
  /** The changes, or how it was refused. */
  const changes = async (filter: string, limits = LIMITS): Promise<unknown> => {
    const answer = await poll(filter, limits);
    return answer.kind === 'changes' ? (JSON.parse(answer.json) as unknown) : answer.kind;
  };
  return { filters, ledger, clock, metrics, publish, create, poll, changes };
}

const sealed = (block: ReturnType<typeof makeBlock>): FeedEvent => ({
  kind: 'confirmed',
  removed: [],
  added: [confirmed(block)],
});

it(`the sum of changes is eth_getLogs, whoever polls and whenever (B12, seed ${seed})`, {
  timeout: 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 3, arbitrary: command }, fc.constant('poll' as const)), {
        minLength: 10,
        maxLength: 60,
      }),
      fc.boolean(),
      fc.integer({ min: 1, max: 6 }),
      async (orders, isHashless, maxResults) => {
        const world = new World({ isHashless });
        const { publish, create, poll } = start();
        const filters = [
          { id: await create(ALL), client: new HeldLogs(), view: 'latest' as const },
          { id: await create(PENDING), client: new HeldLogs(), view: 'pending' as const },
        ];
        /** Both threads ask at the same time; answers are taken in the order in which they were worked out. */
        const ask = async (limits: typeof LIMITS): Promise<number> => {
          let count = 0;
          for (const { id, client } of filters) {
            for (const answer of await Promise.all([poll(id, limits), poll(id, limits)])) {
              if (answer.kind !== 'changes') throw new Error(answer.kind);
              const logs = JSON.parse(answer.json) as unknown[];
              expect(logs.length).toBeLessThanOrEqual(limits.maxResults);
              count += logs.length;
              for (const log of logs) client.take(JSON.stringify(log));
            }
          }
          return count;
        };
        const settle = async (): Promise<void> => {
          while ((await ask(LIMITS)) > 0);
          for (const { client, view } of filters) {
            expect(client.problems).toEqual([]);
            expect([...client.held.values()].map(withoutHash)).toEqual(world.logs()[view].map(withoutHash));
          }
        };
        for (const order of orders) {
          if (order === 'poll') {
            await ask({ ...LIMITS, maxResults });
            continue;
          }
          const event = world.run(order);
          if (event !== undefined) publish(event);
        }
        await settle();
      },
    ),
    { seed, numRuns: 200 },
  );
});

it('tells of confirmed logs, and takes them back when they are reorged out (A4, B12)', async () => {
  const { publish, create, changes } = start();
  const [filter, other] = [
    await create(ALL),
    await create({ kind: 'logs', filter: { address: `0x${'99'.repeat(20)}` } }),
  ];
  const block = makeBlock(GENESIS, [1, 2]);
  publish(flashblockEvent(block, 0, 2, 'a'));
  expect(await changes(filter)).toEqual([]);
  publish(sealed(block));
  expect(await changes(filter)).toMatchObject([
    { logIndex: '0x0', blockHash: block.hash, removed: false },
    { logIndex: '0x1' },
    { logIndex: '0x2' },
  ]);
  expect(await changes(filter)).toEqual([]);
  const instead = makeBlock(GENESIS, [1], 'other');
  publish({ kind: 'confirmed', removed: [removed(block)], added: [confirmed(instead)] });
  const late = await create(ALL);
  expect(await changes(filter)).toMatchObject([
    { logIndex: '0x2', blockHash: block.hash, removed: true },
    { logIndex: '0x1', removed: true },
    { logIndex: '0x0', removed: true },
    { logIndex: '0x0', blockHash: instead.hash, removed: false },
  ]);
  expect(await changes(late)).toEqual([]);
  expect(await changes(other)).toEqual([]);
  // Of what came before it, a filter is not told that it went.
  publish({ kind: 'confirmed', removed: [removed(instead)], added: [confirmed(block)] });
  expect(await changes(late)).toMatchObject([{ removed: false }, { removed: false }, { removed: false }]);
});

it('with toBlock pending tells of logs once, as they are pre-confirmed, and takes them back as they were told', async () => {
  const { publish, create, changes } = start();
  const filter = await create(PENDING);
  const block = makeBlock(GENESIS, [1, 2]);
  publish(flashblockEvent(block, 0, 2, 'a'));
  expect(await changes(filter)).toMatchObject([
    { blockHash: ZERO_HASH, removed: false },
    { blockHash: ZERO_HASH },
    { blockHash: ZERO_HASH },
  ]);
  publish(sealed(block));
  expect(await changes(filter)).toEqual([]);
  publish({ kind: 'confirmed', removed: [removed(block)], added: [] });
  expect(await changes(filter)).toMatchObject([
    { blockHash: ZERO_HASH, removed: true },
    { blockHash: ZERO_HASH, removed: true },
    { blockHash: ZERO_HASH, removed: true },
  ]);
});

it('tells of blocks and of pre-confirmed transactions by hash (B12)', async () => {
  const { publish, create, changes } = start();
  const blocks = await create({ kind: 'blocks' });
  const transactions = await create({ kind: 'transactions' });
  const one = makeBlock(GENESIS, [1, 2]);
  publish(flashblockEvent(one, 0, 2, 'a'));
  expect(await changes(blocks)).toEqual([]);
  expect(await changes(transactions)).toEqual([hashOf('transaction 1'), hashOf('transaction 2')]);
  publish(sealed(one));
  const other = makeBlock(GENESIS, [2, 3], 'other');
  const two = makeBlock(other, []);
  publish({ kind: 'confirmed', removed: [removed(one)], added: [confirmed(other), confirmed(two)] });
  expect(await changes(blocks)).toEqual([one.hash, other.hash, two.hash]);
  expect(await changes(transactions)).toEqual([hashOf('transaction 3')]);
});

it('keeps to the numbers of a range', async () => {
  const { publish, create, changes } = start();
  const filter = await create({ kind: 'logs', filter: { fromBlock: '0x2', toBlock: '0x3' } });
  let parent = GENESIS;
  for (let count = 0; count < 5; count++) {
    parent = makeBlock(parent, [1]);
    publish(sealed(parent));
  }
  expect(await changes(filter)).toMatchObject([{ blockNumber: '0x2' }, { blockNumber: '0x3' }]);
});

it(`polls at once, some of which are never answered, tell each change once (B12, seed ${seed})`, {
  timeout: 60_000,
}, async () => {
  const polls = fc.record({ isSent: fc.array(fc.boolean(), { maxLength: 4 }), isReversed: fc.boolean() });
  const orders = fc.array(fc.oneof({ weight: 3, arbitrary: command }, polls), {
    minLength: 10,
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(orders, fc.integer({ min: 1, max: 6 }), async (some, maxResults) => {
      const world = new World({ isHashless: false });
      const { filters, publish, create, poll } = start();
      const [filter, whole] = [await create(PENDING), await create(PENDING)];
      const told: unknown[] = [];
      /** How often it was told something. */
      const ask = async ({ isSent, isReversed }: { isSent: readonly boolean[]; isReversed: boolean }) => {
        const answers = await Promise.all(isSent.map(() => poll(filter, { ...LIMITS, maxResults })));
        const given = answers.map((answer, at) => ({ answer, isSent: isSent[at] === true }));
        for (const { answer, isSent: arrives } of isReversed ? given.toReversed() : given) {
          if (answer.kind !== 'changes') throw new Error(answer.kind);
          filters.tell({ op: 'settle', filter, poll: answer.poll, isSent: arrives });
          if (arrives) told.push(...(JSON.parse(answer.json) as unknown[]));
        }
        return answers.some((answer) => answer.kind === 'changes' && answer.json !== '[]');
      };
      for (const order of some) {
        if (typeof order === 'object' && 'isSent' in order) await ask(order);
        else {
          const event = world.run(order);
          if (event !== undefined) publish(event);
        }
      }
      while (await ask({ isSent: [true], isReversed: false }));
      const all = await poll(whole, { maxResults: 100_000, maxBytes: 1 << 24 });
      if (all.kind !== 'changes') throw new Error(all.kind);
      const texts = (logs: unknown): string[] =>
        (logs as unknown[]).map((log) => JSON.stringify(log)).toSorted();
      expect(texts(told)).toEqual(texts(JSON.parse(all.json)));
    }),
    { seed, numRuns: 200 },
  );
});

it('tells again what was not sent, also where a later answer was', async () => {
  const { filters, publish, create, poll, changes } = start();
  const filter = await create(ALL);
  const numbersOf = (answer: FilterAnswer): readonly string[] => {
    if (answer.kind !== 'changes') throw new Error(answer.kind);
    return (JSON.parse(answer.json) as { blockNumber: string }[]).map(({ blockNumber }) => blockNumber);
  };
  const settle = (answer: FilterAnswer, isSent: boolean): void => {
    if (answer.kind !== 'changes') throw new Error(answer.kind);
    filters.tell({ op: 'settle', filter, poll: answer.poll, isSent });
  };
  let parent = GENESIS;
  const mine = (): void => {
    parent = makeBlock(parent, [1]);
    publish(sealed(parent));
  };
  mine();
  const first = await poll(filter);
  mine();
  settle(first, false);
  expect(numbersOf(await poll(filter))).toEqual(['0x1', '0x2']);
  // Two at once, of which the first is not sent: the chain was reorganised under it, or its client is gone.
  mine();
  const second = await poll(filter);
  mine();
  const third = await poll(filter);
  expect([...numbersOf(second), ...numbersOf(third)]).toEqual(['0x3', '0x4']);
  settle(third, true);
  mine();
  settle(second, false);
  expect(await poll(filter, { ...LIMITS, maxResults: 1 }).then(numbersOf)).toEqual(['0x3']);
  expect(await changes(filter)).toHaveLength(1);
  expect(await changes(filter)).toEqual([]);
});

it('gives up a filter when too many answers are under way to know what one of them had', async () => {
  const { filters, publish, create, poll } = start();
  const filter = await create(ALL);
  publish(sealed(makeBlock(GENESIS, [1])));
  const first = await poll(filter);
  for (let count = 0; count < 64; count++) await poll(filter);
  if (first.kind !== 'changes') throw new Error(first.kind);
  filters.tell({ op: 'settle', filter, poll: first.poll, isSent: false });
  expect(await poll(filter)).toEqual({
    kind: 'unknown',
    reason: expect.stringContaining('not held any more'),
  });
  expect(await poll(filter)).toEqual({ kind: 'unknown' });
});

it('has what was undone while it was worked out in front', async () => {
  const { filters, publish, create, poll } = start({ maxBytes: 1 << 24 });
  const filter = await create(ALL);
  const limits = { maxResults: 10_000, maxBytes: 1 << 24 };
  publish(
    sealed(
      makeBlock(
        GENESIS,
        Array.from({ length: 1_000 }, () => 3),
      ),
    ),
  );
  const first = await poll(filter, { ...limits, maxResults: 1 });
  const second = poll(filter, limits);
  // So many logs are gone through in several turns.
  for (let turns = 0; turns < 10; turns++) await Promise.resolve();
  if (first.kind !== 'changes') throw new Error(first.kind);
  filters.tell({ op: 'settle', filter, poll: first.poll, isSent: false });
  const answer = await second;
  if (answer.kind !== 'changes') throw new Error(answer.kind);
  const logs = JSON.parse(answer.json) as { readonly logIndex: string }[];
  expect(logs).toHaveLength(3_000);
  expect(logs[0]?.logIndex).toBe('0x0');
});

it('answers an error, never a part, when what it has to tell is gone', async () => {
  const { publish, create, poll, changes, metrics, ledger, filters } = start({ maxBytes: 60_000 });
  const [slow, quick] = [await create(ALL), await create(ALL)];
  let parent = GENESIS;
  for (let count = 0; count < 100; count++) {
    parent = makeBlock(parent, [3]);
    publish(sealed(parent));
    expect(await changes(quick)).toHaveLength(3);
  }
  expect(await poll(slow)).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('history') });
  expect(metrics.ended).toHaveBeenCalledExactlyOnceWith('lost');
  // Another copy begins.
  ledger.apply({ kind: 'anchored' });
  filters.lose();
  expect(await poll(quick)).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('history') });
});

it('ends filters that nobody asks for, and refuses more than the limits', async () => {
  const { filters, create, changes, clock, metrics } = start({ maxFilters: 3, maxPerClient: 2 });
  const [a, b] = [await create(ALL), await create({ kind: 'blocks' })];
  expect(await create(ALL)).toBe('refused');
  const c = await create({ kind: 'transactions' }, 'two');
  expect(await create(ALL, 'two')).toBe('overloaded');
  clock.now = 900;
  expect(await changes(a)).toEqual([]);
  clock.now = 1_100;
  filters.expire();
  expect(await Promise.all([a, b, c].map((id) => changes(id)))).toEqual([[], 'unknown', 'unknown']);
  expect(metrics.ended.mock.calls).toEqual([['expired'], ['expired']]);
  expect(metrics.refused.mock.calls).toEqual([['client'], ['total']]);
  filters.tell({ op: 'remove', filter: a });
  expect(await changes(a)).toBe('unknown');
  expect(await create(ALL)).toMatch(/^0x/);
});

it('bounds the bytes of criteria, and the polls that wait for one filter', async () => {
  const { create, poll, publish, metrics } = start({ maxBytes: 400_000 });
  const address = Array.from({ length: 45 }, (_, at) => `0x${at.toString(16).padStart(40, '0')}`);
  const large: FilterCriteria = { kind: 'logs', filter: { address } };
  expect(await create({ kind: 'logs', filter: { address: [...address, ...address] } }, 'x')).toBe('refused');
  for (const client of ['a', 'b', 'c', 'd']) {
    expect(await create(large, client)).toMatch(/^0x/);
    // A quarter of the room is what one client may have.
    expect(await create(large, client)).toBe('refused');
  }
  expect(await create(large, 'e')).toBe('overloaded');
  const byClient = Array.from({ length: 5 }, () => 'client');
  expect(metrics.refused.mock.calls.flat()).toEqual([...byClient, 'bytes']);
  const filter = await create(ALL);
  publish(sealed(makeBlock(GENESIS, [3])));
  const answers = await Promise.all(Array.from({ length: 100 }, () => poll(filter)));
  const kinds = answers.map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'overloaded')).toHaveLength(36);
  const told = answers.flatMap((answer) =>
    answer.kind === 'changes' ? (JSON.parse(answer.json) as unknown[]) : [],
  );
  expect(told).toHaveLength(3);
});

it('has the filters of whoever has most give way to those of others', async () => {
  const { create, changes, metrics } = start({ maxFilters: 4, maxPerClient: 4 });
  const many = [await create(ALL, 'many'), await create(ALL, 'many'), await create(ALL, 'many')];
  const other = await create(ALL, 'other');
  expect(await changes(many[0] ?? '')).toEqual([]);
  const few = await create({ kind: 'blocks' }, 'few');
  // The one that was asked for longest ago goes.
  const left = await Promise.all([...many, other, few].map((id) => changes(id)));
  expect(left).toEqual([[], 'unknown', [], [], []]);
  // Nobody has more than two now.
  expect(await create(ALL, 'few')).toBe('overloaded');
  expect(metrics.ended.mock.calls).toEqual([['displaced']]);
});
