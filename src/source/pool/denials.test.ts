import { expect, it } from 'vitest';
import { Denials } from './denials.ts';

it('asks again after a while, later each time, up to a limit', () => {
  const denials = new Denials({ firstMs: 100, maxMs: 350 });
  expect(denials.isDenied('x', 0)).toBe(false);
  let now = 0;
  for (const ms of [100, 200, 350, 350]) {
    denials.deny('x', now);
    // Refused together with the first.
    denials.deny('x', now + 50);
    expect(denials.isDenied('x', now + ms - 1)).toBe(true);
    expect(denials.isDenied('y', now)).toBe(false);
    now += ms;
    expect(denials.isDenied('x', now)).toBe(false);
  }
});

it('forgets what another server refused', () => {
  const denials = new Denials({ firstMs: 100, maxMs: 350 });
  denials.deny('x', 0);
  denials.clear();
  expect(denials.isDenied('x', 0)).toBe(false);
  denials.deny('x', 0);
  expect(denials.isDenied('x', 100)).toBe(false);
});
