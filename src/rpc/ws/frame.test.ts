import { expect, it } from 'vitest';
import * as ws from 'ws';
import { frameOf } from './frame.ts';

/** What ws makes of the same message; its typings do not name it. */
const { Sender } = ws as unknown as {
  Sender: { frame(data: Buffer, options: object): readonly Buffer[] };
};

it.each([0, 1, 125, 126, 127, 65_535, 65_536, 200_000])('frames %i bytes as ws does, once', (length) => {
  const message = Buffer.alloc(length, 'x');
  const expected = Sender.frame(message, { fin: true, opcode: 1, mask: false, rsv1: false, readOnly: true });
  expect(frameOf(message).equals(Buffer.concat(expected))).toBe(true);
  expect(frameOf(message)).toBe(frameOf(message));
});
