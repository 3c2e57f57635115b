import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FeedFollower } from './follower.ts';
import type { FeedEvent } from './interface.ts';
import { newProgress, Progress, type ProgressMemory } from './progress.ts';

const drop = (from: number): FeedEvent & { readonly kind: 'dropped' } => ({
  kind: 'dropped',
  from,
  reason: 'gap',
  version: undefined,
});

interface Thread {
  readonly follower: FeedFollower;
  readonly seen: string[];
  /** Lets the thread finish the event it is at. */
  go(): void;
}

function thread(memory: ProgressMemory, place: number): Thread {
  const seen: string[] = [];
  const gates: (() => void)[] = [];
  const nameOf = (event: FeedEvent): string => (event.kind === 'dropped' ? `${event.from}` : event.kind);
  const follower = new FeedFollower(new Progress(memory, place), {
    apply: async (event) => {
      await new Promise<void>((resolve) => gates.push(resolve));
      seen.push(`has ${nameOf(event)}`);
    },
    publish: (event) => seen.push(`tells ${nameOf(event)}`),
    onFailure: (error) => seen.push(`failed: ${String(error)}`),
  });
  return { follower, seen, go: () => gates.shift()?.() };
}

async function settle(): Promise<void> {
  for (let turns = 0; turns < 5; turns++) await turn();
}

describe('the feed of serving threads', () => {
  it('is told to subscribers once every thread can answer from it, in order', async () => {
    const memory = newProgress(2);
    const [one, two] = [thread(memory, 0), thread(memory, 1)];
    for (const { follower } of [one, two]) {
      follower.take(1, drop(1));
      follower.take(2, drop(2));
    }
    await settle();
    one.go();
    await settle();
    one.go();
    await settle();
    expect(one.seen).toEqual(['has 1', 'has 2']);
    two.go();
    await settle();
    expect(two.seen).toEqual(['has 1', 'tells 1']);
    expect(one.seen).toEqual(['has 1', 'has 2', 'tells 1']);
    two.go();
    await settle();
    expect(one.seen.at(-1)).toBe('tells 2');
    expect(two.seen.at(-1)).toBe('tells 2');
  });

  it('goes on where the count goes round', async () => {
    const memory = newProgress(1);
    const { follower, seen, go } = thread(memory, 0);
    const last = 2 ** 31 - 1;
    follower.take(last, drop(1));
    follower.take(last + 1, drop(2));
    await settle();
    go();
    await settle();
    go();
    await settle();
    expect(seen).toEqual(['has 1', 'tells 1', 'has 2', 'tells 2']);
  });

  it('takes no more once it is stopped, and waits for nobody', async () => {
    const memory = newProgress(2);
    const { follower, seen, go } = thread(memory, 0);
    follower.take(1, drop(1));
    await settle();
    const stopped = follower.stop();
    follower.take(2, drop(2));
    go();
    await stopped;
    await settle();
    expect(seen[0]).toBe('has 1');
    expect(seen).not.toContain('has 2');
    await Promise.race([new Progress(memory, 0).everywhere(9, () => true), settle()]);
  });

  it('says when an event could not be taken', async () => {
    const seen: unknown[] = [];
    const follower = new FeedFollower(new Progress(newProgress(1), 0), {
      apply: async () => {
        throw new Error('the store is gone');
      },
      publish: () => seen.push('told'),
      onFailure: (error) => seen.push(error),
    });
    follower.take(1, drop(1));
    await settle();
    expect(seen).toContainEqual(new Error('the store is gone'));
    expect(seen).not.toContain('told');
  });
});
