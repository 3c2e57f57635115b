import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { Readiness } from '../rpc/admin/server.ts';
import { newHeartbeats, Pulse } from '../telemetry/heartbeat.ts';
import { measureReadiness, measureSilence } from './metrics.ts';

async function read(registry: Registry): Promise<readonly string[]> {
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith('chain'));
}

it('has what /readyz says, and each reason by itself', async () => {
  const registry = new Registry();
  let now: () => Readiness = () => ({ reasons: [] });
  measureReadiness(registry, () => now());
  expect(await read(registry)).toContain('chain_query_ready 1');
  expect(await read(registry)).toContain('chain_query_not_ready{reason="upstream"} 0');
  now = () => ({ reasons: [{ reason: 'upstream' }, { reason: 'confirmed lag' }] });
  const lines = await read(registry);
  expect(lines).toContain('chain_query_ready 0');
  expect(lines).toContain('chain_query_not_ready{reason="upstream"} 1');
  expect(lines).toContain('chain_query_not_ready{reason="confirmed lag"} 1');
  expect(lines).toContain('chain_query_not_ready{reason="store"} 0');
  now = () => {
    throw new Error('the store is broken');
  };
  expect(await read(registry)).toContain('chain_query_ready 0');
  expect(await read(registry)).toContain('chain_query_not_ready{reason="store"} 1');
});

it('says how long a thread has been silent', async () => {
  const registry = new Registry();
  let now = 0;
  const beats = newHeartbeats(2);
  measureSilence(registry, new Pulse(beats, () => now));
  now = 2_500;
  Atomics.add(beats, 1, 1);
  expect(await read(registry)).toEqual([
    'chain_query_worker_silent_seconds{worker="0"} 2.5',
    'chain_query_worker_silent_seconds{worker="1"} 0',
  ]);
});
