import { expect, it } from 'vitest';
import { GENESIS } from '../../../test/support/serve/subscription-world.ts';
import { confirmed, makeBlock } from '../../../test/support/serve/subscriptions.ts';
import type { FilterAnswer } from '../../methods/filters/host.ts';
import { Ledger } from '../streams/ledger.ts';
import { Filters } from './filters.ts';
import { FilterVersion } from './version.ts';

const LIMITS = { maxResults: 1_000, maxBytes: 1 << 20 };

function start() {
  const ledger = new Ledger({ undoWindow: 8 }, GENESIS);
  const clock = { now: 0 };
  const version = new FilterVersion();
  const filters = new Filters(
    { maxFilters: 10, maxPerClient: 10, timeoutMs: 1_000, maxBytes: 1 << 20 },
    {
      ...{ ledger, version },
      metrics: { watch: () => {}, ended: () => {}, refused: () => {} },
      transactions: () => {
        throw new Error('no filter is of transactions');
      },
      now: () => clock.now,
    },
  );
  const seal = (block: ReturnType<typeof makeBlock>): void =>
    filters.take(ledger.apply({ kind: 'confirmed', removed: [], added: [confirmed(block)] }));
  const create = async (): Promise<string> => {
    const answer = await filters.ask({
      ...{ op: 'create', client: 'one' },
      criteria: { kind: 'logs', filter: {} },
    });
    return answer.kind === 'created' ? answer.filter : answer.kind;
  };
  const poll = (filter: string, limits = LIMITS): Promise<FilterAnswer> =>
    filters.ask({ op: 'poll', filter, limits });
  return { filters, clock, version, seal, create, poll };
}

it('knows without a poll that there is nothing new, and tells other threads when there may be', async () => {
  const { filters, version, clock, seal, create, poll } = start();
  const [filter, other] = [await create(), await create()];
  const versionOf = async (id: string): Promise<number | undefined> => {
    const answer = await poll(id);
    return answer.kind === 'changes' ? answer.version : undefined;
  };
  expect(filters.hasNothingNew(filter)).toBe(true);
  expect(filters.hasNothingNew('0x1')).toBe(false);
  const before = await versionOf(filter);
  expect(before).toBe(version.now);
  seal(makeBlock(GENESIS, [1, 1]));
  expect(filters.hasNothingNew(filter)).toBe(false);
  expect(version.now).not.toBe(before);
  // A part of it is not all of it.
  const limits = { ...LIMITS, maxResults: 1 };
  expect(await poll(filter, limits)).toMatchObject({ kind: 'changes', version: undefined });
  expect(filters.hasNothingNew(filter)).toBe(false);
  const rest = await poll(filter);
  expect(rest).toMatchObject({ version: version.now });
  expect(filters.hasNothingNew(filter)).toBe(true);
  // An answer that is given back.
  if (rest.kind !== 'changes') throw new Error(rest.kind);
  filters.tell({ op: 'settle', filter, poll: rest.poll, isSent: false });
  expect(filters.hasNothingNew(filter)).toBe(false);
  expect(version.now).not.toBe(rest.version);
  // It counts as asking, and what ends is not known any more.
  const told = await versionOf(filter);
  clock.now += 600;
  expect(filters.hasNothingNew(filter)).toBe(true);
  clock.now += 600;
  filters.expire();
  expect([filter, other].map((id) => filters.hasNothingNew(id))).toEqual([true, false]);
  expect(version.now).not.toBe(told);
});
