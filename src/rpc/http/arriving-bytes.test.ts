import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ArrivingBytes } from './arriving-bytes.ts';

it('gives back what came, in whatever pieces', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 60 }), (pieces) => {
      const arrived = new ArrivingBytes();
      for (const piece of pieces) arrived.push(Buffer.from(piece));
      const all = Buffer.concat(pieces);
      expect(arrived.length).toBe(all.length);
      expect(arrived.take().equals(all)).toBe(true);
      expect([arrived.length, arrived.capacity]).toEqual([0, 0]);
    }),
  );
});

it('takes up little more than the bytes, when they come one by one', () => {
  const arrived = new ArrivingBytes();
  const one = Buffer.of(32);
  for (let at = 0; at < 1_000_000; at++) arrived.push(one);
  expect(arrived.capacity).toBeLessThanOrEqual(2_000_000);
});

it('keeps a piece that stays alone as it came, and never writes into it', () => {
  const arrived = new ArrivingBytes();
  const whole = Buffer.from('one two');
  const piece = whole.subarray(0, 3);
  arrived.push(piece);
  arrived.push(Buffer.from('!!!'));
  expect(arrived.take().toString()).toBe('one!!!');
  expect(whole.toString()).toBe('one two');
  arrived.push(piece);
  expect(arrived.take()).toBe(piece);
});
