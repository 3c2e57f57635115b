import { expect, it } from 'vitest';
import { type FollowedState, readinessOf } from './readiness.ts';

const OPTIONS = {
  readyLag: { blocks: 0, ms: 30_000 },
  readyUpstreamMs: 5_000,
  readyConfirmedMs: 15_000,
  readyPreconfirmedMs: 5_000,
};
const WELL: FollowedState = {
  ...{ lag: 0, blockTimeMs: undefined, trouble: undefined, outage: undefined },
  ...{ confirmedAgeMs: 0, preconfirmedAgeMs: 0 },
  upstreams: [],
};
const upstream = { name: 'a', outForMs: 0, otherChain: undefined } as FollowedState['upstreams'][number];

it.each([
  [200, 149, 150],
  [2_000, 14, 15],
  [12_000, 2, 3],
  // The newest block is about to be taken in.
  [60_000, 1, 2],
  [undefined, 14, 15],
])('is behind after the same time, with blocks of %s ms (B18)', (blockTimeMs, ready, behind) => {
  const issues = (lag: number): readonly string[] =>
    readinessOf(OPTIONS, { ...WELL, blockTimeMs, lag, upstreams: [upstream] }).issues.map(
      ({ detail }) => detail,
    );
  expect(issues(ready)).toEqual([]);
  expect(issues(behind)).toEqual([`${behind} blocks behind the upstream`]);
});
