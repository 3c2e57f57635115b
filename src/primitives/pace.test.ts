import { expect, it } from 'vitest';
import { Pace } from './pace.ts';

it('has one that rests go on in each turn of the event loop, in their order', async () => {
  const woken: string[] = [];
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const work = async (name: string): Promise<void> => {
    const pace = new Pace();
    for (let piece = 0; piece < 2; piece++) {
      await pace.rest();
      woken.push(`${name}${turn}`);
    }
  };
  await Promise.all(['a', 'b', 'c'].map(work));
  isOver = true;
  expect(woken.map((text) => text[0]).join('')).toBe('abcabc');
  expect(new Set(woken.map((text) => text.slice(1))).size).toBe(6);
});

it('counts work, and the time it takes', () => {
  const pace = new Pace();
  expect(pace.spend(1)).toBe(false);
  expect(pace.spend(5_000)).toBe(true);
});
