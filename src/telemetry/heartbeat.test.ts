import { expect, it } from 'vitest';
import { newHeartbeats, Pulse } from './heartbeat.ts';

it('says how long each thread has been silent', () => {
  const memory = newHeartbeats(2);
  let now = 1_000;
  const pulse = new Pulse(memory, () => now);
  expect(pulse.silentMs()).toEqual([0, 0]);
  now += 300;
  Atomics.add(memory, 0, 1);
  expect(pulse.silentMs()).toEqual([0, 300]);
  now += 4_000;
  Atomics.add(memory, 0, 1);
  expect(pulse.silentMs()).toEqual([0, 4_300]);
  Atomics.add(memory, 1, 1);
  expect(pulse.silentMs()).toEqual([0, 0]);
});

it('takes nobody for silent because it did not look itself', () => {
  const memory = newHeartbeats(1);
  let now = 0;
  const pulse = new Pulse(memory, () => now);
  now += 60_000;
  Atomics.add(memory, 0, 1);
  expect(pulse.silentMs()).toEqual([0]);
});
