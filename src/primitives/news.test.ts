import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { News } from './news.ts';

describe('news', () => {
  it('ends every wait when it comes, and at once when it has come already', async () => {
    const news = new News();
    const waits = [news.after(0, 60_000), news.after(0, 60_000)];
    expect(news.waiting).toBe(2);
    news.tell();
    expect(await Promise.all(waits)).toEqual([true, true]);
    expect(await news.after(0, 60_000)).toBe(true);
    expect(news.count).toBe(1);
  });

  it('ends a wait when its time is over or nobody wants it any more', async () => {
    vi.useFakeTimers();
    try {
      const news = new News();
      const stop = new AbortController();
      const [late, given] = [news.after(0, 1_000), news.after(0, 1_000, stop.signal)];
      stop.abort();
      expect(await given).toBe(false);
      vi.advanceTimersByTime(1_000);
      expect(await late).toBe(false);
      expect(await news.after(0, 1_000, stop.signal)).toBe(false);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('leaves nothing behind, however long it and the signal live', async () => {
    const news = new News();
    const { signal } = new AbortController();
    for (let wait = 0; wait < 1_000; wait++) {
      const told = news.after(news.count, 60_000, signal);
      news.tell();
      await told;
    }
    expect(news.waiting).toBe(0);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});
