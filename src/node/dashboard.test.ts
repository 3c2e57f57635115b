import { Counter, Gauge, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { Stats } from '../rpc/admin/state.ts';
import { RequestTimes } from '../telemetry/request-times.ts';
import { Dashboard } from './dashboard.ts';
import { measuredStats, Samples, upstreamRows } from './dashboard-stats.ts';

function dashboardOf(stats: () => Promise<Stats>): Dashboard {
  return new Dashboard({
    facts: () => ({
      ...{ version: '1', chainId: '1', chain: undefined, preconfirms: true, follows: true },
      endpoints: [],
      bounds: [],
    }),
    fees: () => undefined,
    forkAt: () => undefined,
    firstHead: () => Promise.resolve(undefined),
    stats,
  });
}

it('shows what was measured, and leaves out what was not', async () => {
  const registry = new Registry();
  const times = new RequestTimes(registry);
  times.of('public')('eth_call', undefined, 0.0001);
  times.of('dedicated')('eth_call', -32000, 0.0008);
  times.of('public')('eth_getLogs', undefined, 60);
  const gauge = (name: string, labelNames: readonly string[] = []): Gauge =>
    new Gauge({ name: `chain_query_${name}`, help: name, labelNames, registers: [registry] });
  gauge('tip_age_seconds').set(2.5);
  gauge('flashblock_stream_connected', ['stream']).set({ stream: 'ws://a' }, 1);
  gauge('store_writable').set(0);
  const decisions = new Counter({
    ...{ name: 'chain_query_flashblock_decisions_total', help: 'd', registers: [registry] },
    labelNames: ['stream', 'decision'],
  });
  decisions.inc({ stream: 'ws://a', decision: 'accept' }, 4);
  decisions.inc({ stream: 'ws://a', decision: 'stale' }, 9);
  const stats = measuredStats(await Samples.of(registry));
  expect(stats.tipAge).toBe(2.5);
  expect(stats.preconfirmedAge).toBeUndefined();
  expect(stats.store).toMatchObject({ writable: false, leftDays: undefined });
  expect(stats.streams).toEqual([
    { name: 'ws://a', connected: true, messages: 0, first: 4, unverified: false },
  ]);
  const call = stats.methods.find(({ method }) => method === 'eth_call');
  expect([call?.errors, call?.counts.slice(0, 3)]).toEqual([1, [1, 1, 0]]);
  expect(stats.methods.find(({ method }) => method === 'eth_getLogs')?.counts.at(-1)).toBe(1);
});

it('marks the upstream that leads', () => {
  const status = {
    latencyMs: 1,
    errorRate: 0,
    head: 1,
    lag: 0,
    lies: 0,
    outForMs: 0,
    batchCalls: 9,
    otherChain: 5n,
  };
  expect(upstreamRows([{ name: 'a', ...status }], 'a')).toEqual([
    {
      name: 'a',
      ...{ latencyMs: 1, errorRate: 0, head: 1, lag: 0, lies: 0, outForMs: 0 },
      leads: true,
      isOtherChain: true,
    },
  ]);
});

it('measures once for all who ask at once, and notes what became otherwise', async () => {
  let measured = 0;
  const quiet = { at: 1, reasons: [], upstreams: [], streams: [] } as unknown as Stats;
  const dashboard = dashboardOf(() => Promise.resolve({ ...quiet, at: ++measured }));
  const { state } = dashboard.modules(() => ({}));
  await Promise.all([state(), state(), state()]);
  expect(measured).toBe(1);
});

it('keeps few events, and none of what drops when nothing is there', async () => {
  const dashboard = dashboardOf(() => Promise.reject(new Error('no')));
  for (let turn = 0; turn < 500; turn++) dashboard.hear({ kind: 'anchored' });
  dashboard.hear({ kind: 'dropped', from: 0, reason: 'silence', version: undefined });
  const { notes, stats } = await dashboard.modules(() => ({})).state();
  expect(notes).toHaveLength(50);
  expect(notes.at(-1)).toMatchObject({ id: 500, kind: 'anchor' });
  expect(stats).toBeUndefined();
});
