import { expect, it } from 'vitest';
import { answerTo, type Reply, startFakeServer } from '../../../test/support/source/upstreams.ts';
import { SourceError } from '../errors.ts';
import { DEFAULT_SOURCE_OPTIONS } from './options.ts';
import { Upstreams } from './upstreams.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

function seeded(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Faults in every order are beyond real servers. Whatever happens: the right answer, or an error that says why.
it(`never gives one question the answer of another (TEST_SEED=${seed})`, async () => {
  const random = seeded(seed);
  const misbehave = (body: string): Reply => {
    const right = answerTo(body, ({ params }) => `answer ${String(params[0])}`);
    const answers = JSON.parse(right) as unknown;
    const faults: readonly (() => Reply)[] = [
      () => 'cut',
      () => ({ status: 503, body: 'busy' }),
      () => ({ status: 429, headers: { 'retry-after': '0' }, body: '' }),
      () => ({ body: right.slice(0, Math.floor(random() * right.length)) }),
      () => ({
        body: JSON.stringify({ id: null, error: { code: -32600, message: 'batch limit exceeded' } }),
      }),
      () => ({ body: JSON.stringify(Array.isArray(answers) ? answers.filter(() => random() < 0.5) : []) }),
      () => ({ body: JSON.stringify(Array.isArray(answers) ? answers.reverse() : answers) }),
      () => ({ body: right }),
    ];
    return random() < 0.4
      ? { body: right }
      : (faults[Math.floor(random() * faults.length)] ?? (() => 'cut' as const))();
  };
  await using first = await startFakeServer({ http: misbehave });
  await using second = await startFakeServer({ http: misbehave });
  const pool = new Upstreams(
    [first.http, second.http],
    {
      ...DEFAULT_SOURCE_OPTIONS.pool,
      maxBatchCalls: 20,
      rounds: 6,
      backOff: { firstMs: 1, maxMs: 4 },
      maxPauseMs: 5,
    },
    { random },
  );
  const settled = await Promise.allSettled(Array.from({ length: 400 }, (_, at) => pool.request('ask', [at])));
  let answered = 0;
  for (const [at, result] of settled.entries()) {
    if (result.status === 'fulfilled') {
      answered += 1;
      expect(result.value.value, `TEST_SEED=${seed}`).toBe(`answer ${at}`);
    } else expect(result.reason, `TEST_SEED=${seed}`).toBeInstanceOf(SourceError);
  }
  expect(answered, `TEST_SEED=${seed}`).toBeGreaterThan(300);
  pool.close();
});
