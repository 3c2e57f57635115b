import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { FilterAnswer, FilterQuestion } from '../methods/filters/host.ts';
import { FilterVersion } from '../subscriptions/filters/version.ts';
import { FilterRouter } from './filter-router.ts';
import type { WorkerCommand } from './messages.ts';
import { RemoteFilters } from './remote-filters.ts';

const LIMITS = { maxResults: 10, maxBytes: 1_000 };

/** Two threads that ask, the main thread, and one that keeps filters and answers when it is told to. */
function connect(timeoutMs = 5_000) {
  const kept: { readonly id: number; readonly question: FilterQuestion }[] = [];
  const router = new FilterRouter(() => (order) => {
    if (order.kind === 'filter') kept.push(structuredClone(order));
  });
  const version = new FilterVersion();
  const clock = { now: 0 };
  const thread = (): RemoteFilters => {
    const remote: RemoteFilters = new RemoteFilters(timeoutMs, {
      say: (news) => {
        const say = (order: WorkerCommand): void => {
          if (order.kind === 'filtered') remote.hear(structuredClone(order));
        };
        if (news.kind === 'filter') router.ask(news.question, news.id, say);
      },
      version,
      now: () => clock.now,
    });
    return remote;
  };
  const answer = (at: number, text: FilterAnswer): void => router.answered(kept[at]?.id ?? 0, text);
  return { threads: [thread(), thread()] as const, kept, answer, version, clock };
}

it('takes each answer to the thread that asked', async () => {
  const { threads, kept, answer } = connect();
  const [one, two] = threads.map((thread, at) => thread.ask({ op: 'read', filter: `0x${at}` }));
  await nextTurn();
  expect(kept.map(({ question }) => question.op)).toEqual(['read', 'read']);
  answer(1, { kind: 'criteria', criteria: { kind: 'blocks' } });
  answer(0, { kind: 'unknown' });
  expect(await one).toEqual({ kind: 'unknown' });
  expect(await two).toEqual({ kind: 'criteria', criteria: { kind: 'blocks' } });
});

it('wants no answer to what it tells', () => {
  const { threads, kept } = connect();
  threads[0].tell({ op: 'remove', filter: '0x1' });
  expect(kept).toEqual([{ kind: 'filter', id: 0, question: { op: 'remove', filter: '0x1' } }]);
});

it('takes back what came too late for whoever asked', async () => {
  const { threads, kept, answer } = connect(1);
  const late = threads[0].ask({ op: 'poll', filter: '0x5', limits: LIMITS });
  await expect(late).rejects.toMatchObject({ type: { code: 'STATE_UNAVAILABLE' } });
  const made = threads[1].ask({ op: 'create', criteria: { kind: 'blocks' }, client: 'a' });
  await expect(made).rejects.toMatchObject({ type: { code: 'STATE_UNAVAILABLE' } });
  await pause(0);
  answer(0, { kind: 'changes', json: '[]', poll: 3 });
  answer(1, { kind: 'created', filter: '0x6' });
  expect(kept.slice(2).map(({ question }) => question)).toEqual([
    { op: 'settle', filter: '0x5', poll: 3, isSent: false },
    { op: 'remove', filter: '0x6' },
  ]);
});

it('knows that there is nothing new while nothing happens to any filter, for a while', async () => {
  const { threads, kept, answer, version, clock } = connect();
  const [one, two] = threads;
  const poll = async (json: string, at?: number): Promise<void> => {
    const asked = one.ask({ op: 'poll', filter: '0x5', limits: LIMITS });
    await nextTurn();
    answer(kept.length - 1, { kind: 'changes', json, poll: 1, version: at });
    await asked;
  };
  expect(one.hasNothingNew('0x5')).toBe(false);
  await poll('["0x1"]', version.now);
  expect([one, two].map((thread) => thread.hasNothingNew('0x5'))).toEqual([true, false]);
  // An event, or a filter that has ended.
  version.bump();
  expect(one.hasNothingNew('0x5')).toBe(false);
  await poll('[]', version.now);
  clock.now += 249;
  expect(one.hasNothingNew('0x5')).toBe(true);
  clock.now += 1;
  expect(one.hasNothingNew('0x5')).toBe(false);
  // What another thread ends or gives back is known before the one that keeps filters hears of it.
  await poll('[]', version.now);
  two.tell({ op: 'settle', filter: '0x5', poll: 1, isSent: true });
  expect(one.hasNothingNew('0x5')).toBe(true);
  two.tell({ op: 'settle', filter: '0x5', poll: 1, isSent: false });
  expect(one.hasNothingNew('0x5')).toBe(false);
  await poll('[]', version.now);
  two.tell({ op: 'remove', filter: '0x5' });
  expect(one.hasNothingNew('0x5')).toBe(false);
  // More than one answer holds.
  await poll('["0x1"]');
  expect(one.hasNothingNew('0x5')).toBe(false);
});
