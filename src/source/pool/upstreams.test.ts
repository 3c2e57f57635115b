import { describe, expect, it, onTestFinished } from 'vitest';
import { broken, makePool, scripted } from '../../../test/support/source/pool.ts';
import {
  answerTo,
  callsOf,
  ManualClock,
  rejection,
  startFakeServer,
} from '../../../test/support/source/upstreams.ts';
import type { SourceEvent } from './events.ts';

// Scripted servers: real ones do not fail, stall or lie on request. Real ones are in test/source.
describe('Upstreams', () => {
  it('says who answered, and asks the next when one fails', async () => {
    const [first, second] = [await scripted(broken), await scripted()];
    const { pool, events, names } = makePool([first, second]);
    expect(await pool.request('echo', [1])).toEqual({ value: 1, upstream: names[1] });
    expect(events).toContainEqual(
      expect.objectContaining({ kind: 'failure', upstream: names[0], code: 'overloaded' }),
    );
    // It is known to be failing now.
    expect(await pool.request('echo', [2])).toEqual({ value: 2, upstream: names[1] });
    expect(first.server.received).toHaveLength(1);
  });

  it('does not ask an upstream again that failed for good', async () => {
    const only = await scripted({ status: 404, body: '' });
    const { pool } = makePool([only]);
    expect(await rejection(pool.request('echo', [1]))).toMatchObject({
      type: { code: 'refused' },
      retryable: false,
    });
    expect(only.server.received).toHaveLength(1);
  });

  it('tries again in rounds, with pauses that grow, and then gives up', async () => {
    const clock = new ManualClock();
    const [first, second] = [await scripted(broken), await scripted(broken)];
    const { pool, events } = makePool([first, second], { clock }, { rounds: 3, hedgeMinMs: 60_000 });
    const failed = rejection(pool.request('echo', [1]));
    for (const ms of [50, 100]) {
      await clock.armed((left) => left === ms);
      clock.advance(ms);
    }
    expect(await failed).toMatchObject({ type: { code: 'overloaded' }, retryable: true });
    expect(events.filter(({ kind }) => kind === 'backOff')).toEqual([
      { kind: 'backOff', ms: 50 },
      { kind: 'backOff', ms: 100 },
    ]);
    expect([first.server.received.length, second.server.received.length]).toEqual([3, 3]);
  });

  it('waits for a rate limit when nobody else is there', async () => {
    const clock = new ManualClock();
    const only = await scripted({ status: 429, headers: { 'retry-after': '3' }, body: '' });
    const { pool } = makePool([only], { clock });
    const answer = pool.request('echo', [1]);
    await clock.armed((left) => left === 3_000);
    only.behaviour = 'works';
    clock.advance(3_000);
    expect(await answer).toMatchObject({ value: 1 });
    expect(only.server.received).toHaveLength(2);
  });

  it('stops at its deadline, and says what had happened', async () => {
    const clock = new ManualClock();
    const only = await scripted('hang');
    const { pool } = makePool([only], { clock }, { deadlineMs: 5_000 });
    const failed = rejection(pool.request('echo', [1]));
    await only.server.arrived(1);
    clock.advance(5_000);
    expect(await failed).toMatchObject({ type: { code: 'timeout' }, message: 'no answer within 5000 ms' });
  });

  it('asks a second upstream when the first is slow, within a budget', async () => {
    const clock = new ManualClock();
    const [slow, fast] = [await scripted('hang'), await scripted()];
    const { pool, events, names } = makePool([slow, fast], { clock }, { maxHedges: 2 });
    const answers = Promise.all([1, 2].map((at) => pool.request('echo', [at])));
    const third = pool.request('echo', [3]);
    await slow.server.arrived(1);
    clock.advance(400);
    expect(await answers).toEqual([1, 2].map((value) => ({ value, upstream: names[1] })));
    expect(events.filter(({ kind }) => kind === 'hedge')).toHaveLength(2);
    expect(fast.server.received.map((text) => callsOf(text).length)).toEqual([2]);
    // Without a hedge the slow one runs into its time limit first.
    clock.advance(10_000);
    expect(await third).toEqual({ value: 3, upstream: names[1] });
    // It has shown to be slow.
    expect(await pool.request('echo', [4])).toEqual({ value: 4, upstream: names[1] });
  });

  it('asks once for all who ask the same meanwhile, until the last of them gives up', async () => {
    const only = await scripted('hang');
    const { pool, events } = makePool([only]);
    const [one, two] = [new AbortController(), new AbortController()];
    const waiting = [one, two].map(({ signal }) => rejection(pool.request('echo', [1], { signal })));
    await only.server.arrived(1);
    one.abort(new Error('one'));
    expect(await waiting[0]).toMatchObject({ message: 'one' });
    expect(events).toEqual([{ kind: 'shared' }]);
    two.abort(new Error('two'));
    expect(await waiting[1]).toMatchObject({ message: 'two' });
    only.behaviour = 'works';
    expect(await pool.request('echo', [1])).toMatchObject({ value: 1 });
    expect(only.server.received).toHaveLength(2);
  });

  it('goes on for who still waits when another gives up', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = await startFakeServer({
      http: async (body) => {
        await held;
        return { body: answerTo(body, ({ params }) => params[0]) };
      },
    });
    onTestFinished(() => server.stop());
    const { pool } = makePool([{ server, behaviour: 'works' }]);
    const one = new AbortController();
    const given = rejection(pool.request('echo', [1], { signal: one.signal }));
    const kept = pool.request('echo', [1], { signal: new AbortController().signal });
    await server.arrived(1);
    one.abort(new Error('one'));
    expect(await given).toMatchObject({ message: 'one' });
    release();
    expect(await kept).toMatchObject({ value: 1 });
    expect(server.received).toHaveLength(1);
  });

  it('gives up the request that lost to a hedge', async () => {
    const clock = new ManualClock();
    const [slow, fast] = [await scripted('hang'), await scripted()];
    let lost = (): void => {};
    const over = new Promise<void>((resolve) => {
      lost = resolve;
    });
    const observe = (event: SourceEvent): void => {
      if (event.kind === 'exchange' && event.outcome === 'aborted') lost();
    };
    const { pool, names } = makePool([slow, fast], { clock, observe });
    const answer = pool.request('echo', [1]);
    await slow.server.arrived(1);
    clock.advance(400);
    expect(await answer).toMatchObject({ upstream: names[1] });
    await over;
  });

  it('refuses more questions than its limit', async () => {
    const { pool } = makePool([await scripted('hang')], {}, { maxQuestions: 1 });
    const first = rejection(pool.request('echo', [1]));
    expect(await rejection(pool.request('echo', [2]))).toMatchObject({ type: { code: 'busy' } });
    pool.close();
    expect(await first).toMatchObject({ message: 'the source is closed' });
  });

  it('prefers who it is told to, and shows who lags', async () => {
    const servers = [await scripted(), await scripted()];
    const { pool, names } = makePool(servers);
    for (const name of names)
      expect(await pool.request('echo', [name], { prefer: name })).toMatchObject({ upstream: name });
    const [first = '', second = ''] = names;
    pool.sawHead(first, 90);
    pool.sawHead(second, 100);
    expect(pool.status().map(({ lag }) => lag)).toEqual([10, 0]);
  });

  it('does not let what follows the chain wait in the line of requests, but the other way round', async () => {
    const only = await scripted();
    const { pool, events } = makePool([only], {}, { maxBatchCalls: 1 });
    const [asked, followed, joined] = await Promise.all([
      pool.request('echo', ['a'], { forRequest: true }),
      pool.request('echo', ['a']),
      pool.request('echo', ['a'], { forRequest: true }),
    ]);
    expect([asked.value, followed.value, joined.value]).toEqual(['a', 'a', 'a']);
    expect(only.server.received).toHaveLength(2);
    expect(events.filter(({ kind }) => kind === 'shared')).toHaveLength(1);
  });

  it('leaves places for what follows the chain, however many requests ask', async () => {
    const only = await scripted('hang');
    const { pool } = makePool([only], {}, { maxQuestions: 8 });
    const gone = new AbortController();
    const options = { forRequest: true, signal: gone.signal };
    const asked = Array.from({ length: 10 }, (_, at) => rejection(pool.request('echo', [at], options)));
    expect(await asked.at(-1)).toMatchObject({ type: { code: 'busy' } });
    const followed = pool.request('echo', ['head'], { signal: gone.signal });
    await only.server.arrived(2);
    gone.abort();
    expect(await rejection(followed)).not.toMatchObject({ type: { code: 'busy' } });
  });
});
