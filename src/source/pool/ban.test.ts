import { describe, expect, it } from 'vitest';
import { broken, makePool, scripted } from '../../../test/support/source/pool.ts';
import { ManualClock, rejection } from '../../../test/support/source/upstreams.ts';

// Scripted servers: real ones do not fail, stall or lie on request. Real ones are in test/source.
describe('a lie', () => {
  it('keeps the liar out for a time that grows', async () => {
    const clock = new ManualClock();
    const [liar, honest] = [await scripted(), await scripted(broken)];
    const { pool, events, names } = makePool([liar, honest], { clock }, { rounds: 1 });
    const [name = ''] = names;
    expect(await pool.request('echo', [1])).toMatchObject({ upstream: name });
    pool.report(name, { item: 'block', what: 'receipts root' });
    expect(events).toContainEqual({
      kind: 'banned',
      upstream: name,
      item: 'block',
      what: 'receipts root',
      lies: 1,
      ms: 60_000,
    });
    // Nobody else works: an error, never the liar's word.
    expect(await rejection(pool.request('echo', [2]))).toMatchObject({ type: { code: 'overloaded' } });
    clock.advance(60_000);
    expect(await pool.request('echo', [3])).toMatchObject({ upstream: name });
    pool.report(name, { item: 'other', what: 'receipts root' });
    clock.advance(60_000);
    expect(pool.trusts(name)).toBe(false);
    clock.advance(60_000);
    expect(pool.trusts(name)).toBe(true);
    expect(pool.status()[0]).toMatchObject({ lies: 2, outForMs: 0 });
  });

  it('counts once towards that time, however many answers of one batch are found false', async () => {
    const clock = new ManualClock();
    const { pool, names } = makePool([await scripted()], { clock }, { rounds: 1 });
    const [name = ''] = names;
    for (let lie = 0; lie < 9; lie++) pool.report(name, { item: 'block', what: 'state proof' });
    expect(pool.status()[0]).toMatchObject({ lies: 9, outForMs: 60_000 });
    clock.advance(60_000);
    expect(pool.trusts(name)).toBe(true);
    pool.report(name, { item: 'block', what: 'state proof' });
    expect(pool.status()[0]).toMatchObject({ lies: 10, outForMs: 120_000 });
  });

  it('spoils what the liar was about to say', async () => {
    const liar = await scripted('hang');
    const { pool, names } = makePool([liar], {}, { rounds: 1 });
    const answer = rejection(
      pool.ask({
        key: 'q',
        run: (upstream) => {
          pool.report(upstream.name, { item: 'x', what: 'y' });
          return Promise.resolve(1);
        },
      }),
    );
    expect(await answer).toMatchObject({ type: { code: 'noUpstream', upstream: names[0] } });
    expect(await rejection(pool.request('echo', [1]))).toMatchObject({
      type: { code: 'noUpstream' },
      message: 'every upstream is banned for lying',
    });
  });
});
