import { expect, it } from 'vitest';
import { connectionsWithin, openFilesLimit } from './open-files.ts';

it.each([
  [undefined, Number.POSITIVE_INFINITY],
  [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  [1_048_576, 1_048_064],
  [1_024, 512],
  [400, 200],
  [1, 1],
])('leaves files for other things than connections: of %s, %s', (files, connections) => {
  expect(connectionsWithin(files)).toBe(connections);
});

it('knows the limit of this process', () => {
  expect(openFilesLimit()).toBeGreaterThan(100);
});
