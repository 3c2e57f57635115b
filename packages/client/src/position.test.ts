import { expect, it } from 'vitest';
import { ChainPosition, formatPoint, isBefore, parsePoint, readView } from './position.ts';

const view = (head?: string, pending?: string) =>
  readView(
    new Headers({ ...(head && { 'x-chain-head': head }), ...(pending && { 'x-chain-pending': pending }) }),
  );

it('reads what an answer says of its snapshot (B3)', () => {
  expect(view('7;0xab', '8;3')).toEqual({ head: 7, newest: { number: 8, index: 3 } });
  expect(view('7;0xab', 'none')).toEqual({ head: 7, newest: { number: 7 } });
  expect(view('7;0xab')).toEqual({ head: 7, newest: { number: 7 } });
  expect(view()).toBeUndefined();
});

it('knows what comes before what', () => {
  const order = ['6', '7;0', '7;2', '7;10', '7', '8;0'].map((text) => parsePoint(text) ?? { number: -1 });
  for (const [at, point] of order.entries()) {
    for (const [other, than] of order.entries()) expect(isBefore(point, than)).toBe(at < other);
  }
  expect(order.map(formatPoint)).toEqual(['6', '7;0', '7;2', '7;10', '7', '8;0']);
  expect(parsePoint('7;')).toBeUndefined();
});

it('only goes forward, the head and the newest point by themselves', () => {
  const position = new ChainPosition();
  position.see({ head: 7, newest: { number: 8, index: 3 } });
  position.see({ head: 6, newest: { number: 9, index: 0 } });
  expect(position.view).toEqual({ head: 7, newest: { number: 9, index: 0 } });
  position.reach({ number: 9, index: 4 });
  position.reach({ number: 8 });
  expect(position.view).toEqual({ head: 8, newest: { number: 9, index: 4 } });
});
