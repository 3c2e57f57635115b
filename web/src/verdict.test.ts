import { expect, it } from 'vitest';
import type { DashboardFacts, Stats } from '../../src/rpc/admin/state.ts';
import { verdictOf } from './verdict.ts';

const facts = { preconfirms: true } as DashboardFacts;
const well = {
  at: 100_000,
  reasons: [],
  warnings: [],
  preconfirmedAge: 0.1,
  methods: [],
} as unknown as Stats;
const of = (
  changes: Partial<Stats>,
  notes: Parameters<typeof verdictOf>[3] = [],
): readonly [string, string] => {
  const { level, title } = verdictOf(
    'open',
    facts,
    { now: { ...well, ...changes }, before: { ...well, at: 90_000 } },
    notes,
  );
  return [level, title];
};
const busy = (calls: number): Partial<Stats> => ({
  methods: [{ method: 'eth_call', errors: 0, counts: [calls] }],
});

it('has a headline of its own for each state', () => {
  expect(of({})).toEqual(['ok', 'Ready, idle']);
  expect(of(busy(10))).toEqual(['ok', 'Ready']);
  expect(of(busy(1_000))).toEqual(['ok', 'Ready, busy']);
  expect(of({ preconfirmedAge: 3 })).toEqual(['warn', 'Stale stream']);
  expect(of({ warnings: ['a fork is to come'] })).toEqual(['warn', 'Ready, with a warning']);
  expect(of({}, [{ id: 1, at: 95_000, kind: 'anchor', text: '' }])).toEqual(['warn', 'Re-anchored']);
  expect(of({}, [{ id: 1, at: 1_000, kind: 'anchor', text: '' }])).toEqual(['ok', 'Ready, idle']);
  for (const [reason, title] of [
    ['draining', 'Shutting down'],
    ['rulesTooOld', 'Rules too old'],
    ['upstream', 'No upstream'],
    ['store', 'Store trouble'],
    ['worker', 'A thread hangs'],
    ['pre-confirmed age', 'Stale stream'],
    ['confirmed lag', 'Behind the chain'],
  ] as const)
    expect(of({ reasons: [{ reason }] })).toEqual(['bad', title]);
  expect(verdictOf('lost', facts, undefined, []).title).toBe('No contact');
  expect(verdictOf('full', facts, undefined, []).title).toBe('Too many dashboards');
  expect(verdictOf('connecting', undefined, undefined, []).title).toBe('Connecting');
});

it('names first what explains the others', () => {
  const reasons = [
    { reason: 'confirmed lag' },
    { reason: 'upstream' },
    { reason: 'rulesTooOld', detail: 'a fork' },
  ];
  expect(of({ reasons })).toEqual(['bad', 'Rules too old']);
});
