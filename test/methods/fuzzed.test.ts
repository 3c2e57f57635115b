import fc from 'fast-check';
import { expect, it } from 'vitest';
import { anyBody } from '../fuzz/bodies.ts';
import { allMethods } from '../support/schemas/methods.ts';

it('the bodies of the fuzz test ask for every method', () => {
  const text = fc
    .sample(anyBody, { seed: 1, numRuns: 4_000 })
    .map((body) => body.toString('latin1'))
    .join('\n');
  expect([...allMethods().keys()].filter((name) => !text.includes(`"method":"${name}"`))).toEqual([]);
});
