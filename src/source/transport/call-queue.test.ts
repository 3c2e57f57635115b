import { describe, expect, it } from 'vitest';
import { type Call, type CallLane, CallQueue, createCall } from './call-queue.ts';

const ROOMY = { calls: 100, bytes: 1_000_000 };
let nextId = 1;

function makeCall(lane: CallLane, signal?: AbortSignal): Call {
  const settle = { resolve: () => {}, reject: () => {} };
  return createCall(nextId++, { method: 'echo', params: [], lane, signal }, settle);
}

function fill(queue: CallQueue, lane: CallLane, count: number, signal?: AbortSignal): Call[] {
  const calls = Array.from({ length: count }, () => makeCall(lane, signal));
  for (const call of calls) queue.push(call);
  return calls;
}

describe('CallQueue', () => {
  it('keeps the lanes apart: one that is full is full for its own only', () => {
    const queue = new CallQueue(10);
    fill(queue, 'requests', 10);
    expect(queue.isFull('requests')).toBe(true);
    expect(queue.isFull('following')).toBe(false);
    const [urgent] = fill(queue, 'following', 1);
    expect(queue.take('following', ROOMY)).toEqual([urgent]);
    expect(queue.take('requests', { ...ROOMY, calls: 4 })).toHaveLength(4);
    expect(queue.isFull('requests')).toBe(false);
  });

  it('has no place for a call that was given up, wherever it stood', () => {
    const queue = new CallQueue(3);
    const gone = new AbortController();
    const [first] = fill(queue, 'requests', 1);
    fill(queue, 'requests', 2, gone.signal);
    expect(queue.isFull('requests')).toBe(true);
    gone.abort();
    expect(queue.isFull('requests')).toBe(false);
    const later = fill(queue, 'requests', 2);
    expect(queue.isFull('requests')).toBe(true);
    expect(queue.take('requests', ROOMY)).toEqual([first, ...later]);
  });

  it('says whether it is full at once, however many wait', () => {
    const queue = new CallQueue(50_000);
    fill(queue, 'requests', 50_000);
    const started = performance.now();
    let full = 0;
    for (let ask = 0; ask < 50_000; ask++) if (queue.isFull('requests')) full++;
    expect(full).toBe(50_000);
    // To look through them each time would be 2.5 milliards of steps.
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  it('sends what was split again in its own lane, without what was given up meanwhile', () => {
    const queue = new CallQueue(10);
    const gone = new AbortController();
    const kept = fill(queue, 'requests', 2);
    const left = fill(queue, 'requests', 2, gone.signal);
    const sent = queue.take('requests', ROOMY);
    expect(sent).toEqual([...kept, ...left]);
    queue.regroup(sent, 2);
    gone.abort();
    expect(queue.take('following', ROOMY)).toEqual([]);
    expect(queue.take('requests', ROOMY)).toEqual(kept);
    expect(queue.take('requests', ROOMY)).toEqual([]);
  });
});
