import { describe, expect, it } from 'vitest';
import { Health } from './health.ts';

function healthOf(
  ...events: readonly (readonly [outcome: Parameters<Health['record']>[0]['outcome'], ms: number])[]
): Health {
  const health = new Health();
  for (const [outcome, ms] of events) health.record({ calls: 1, ms, outcome }, 0);
  return health;
}

const score = (health: Health, now = 0): number => health.score(now, 100);

describe('Health', () => {
  it('prefers the faster', () => {
    expect(score(healthOf(['ok', 10]))).toBeLessThan(score(healthOf(['ok', 20])));
  });

  it('prefers who answers to who fails fast', () => {
    expect(score(healthOf(['ok', 50]))).toBeLessThan(score(healthOf(['ok', 50], ['unreachable', 1])));
  });

  it('forgets failures with time', () => {
    const failed = healthOf(['ok', 10], ['unreachable', 1], ['unreachable', 1]);
    expect(failed.errorRate(30_000)).toBeCloseTo(failed.errorRate(0) / 2);
  });

  it('does not hold it against an upstream that it has no such block', () => {
    expect(healthOf(['unknownBlock', 1], ['stateUnavailable', 1], ['unsupported', 1]).errorRate(0)).toBe(0);
  });

  it('prefers who has the head', () => {
    const [ahead, behind] = [healthOf(['ok', 50]), healthOf(['ok', 10])];
    ahead.sawHead(100);
    behind.sawHead(98);
    expect(score(ahead)).toBeLessThan(score(behind));
  });

  it('learns from a request that was given up for being slow, not from one given up early', () => {
    expect(healthOf(['ok', 10], ['aborted', 1_000]).latencyMs).toBeGreaterThan(100);
    expect(healthOf(['ok', 10], ['aborted', 1]).latencyMs).toBe(10);
  });
});
