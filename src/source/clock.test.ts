import { expect, it } from 'vitest';
import { backOffMs, sleep, systemClock } from './clock.ts';

it('doubles pauses up to a limit, with the upper half left to chance', () => {
  const options = { firstMs: 100, maxMs: 1_000 };
  const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
  for (let attempt = 1; attempt < 2_000; attempt++) {
    const full = Math.min(1_000, 100 * 2 ** (attempt - 1));
    const ms = backOffMs(options, attempt, random);
    expect(ms >= full / 2 && ms <= full, `seed ${seed}, attempt ${attempt}: ${ms}`).toBe(true);
  }
});

it('stops waiting when the signal aborts, before or during', async () => {
  await expect(sleep(systemClock, 60_000, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
  const abort = new AbortController();
  const waiting = sleep(systemClock, 60_000, abort.signal);
  abort.abort(new Error('during'));
  await expect(waiting).rejects.toThrow('during');
});
