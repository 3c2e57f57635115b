import { expect, it } from 'vitest';
import { placeOf } from '../../postings.ts';
import { countPlaces, decodeRow, encodeRow, intersectPlaces, logsByBlock } from './places.ts';

/** So many places in each of these blocks. */
function inBlocks(blocks: readonly number[], logs: number): number[] {
  return blocks.flatMap((block) => Array.from({ length: logs }, (_, index) => placeOf(block, index)));
}

function read(places: readonly number[]): number[] {
  const into: number[] = [];
  decodeRow(encodeRow(places), into);
  return into;
}

it('lists up to 1,024 places, and names the blocks of more', () => {
  const listed = inBlocks([64, 65, 127], 341);
  expect(read(listed)).toEqual(listed);
  const named = read(inBlocks([64, 65, 127], 342));
  expect([...logsByBlock(named)]).toEqual([
    [64, undefined],
    [65, undefined],
    [127, undefined],
  ]);
  expect(countPlaces(named)).toBeGreaterThan(named.length);
});

it('keeps a row of a value that is everywhere small', () => {
  const blocks = Array.from({ length: 64 }, (_, at) => 192 + at);
  expect(encodeRow(inBlocks(blocks, 10_000)).length).toBeLessThan(200);
  expect(encodeRow(inBlocks(blocks, 16)).length).toBeLessThan(2_300);
});

it('leaves what both may have, where either names blocks only', () => {
  const named = read(inBlocks([1, 2, 3], 500));
  const some = [placeOf(2, 4), placeOf(2, 9), placeOf(5, 1)];
  for (const [first, other] of [
    [named, some],
    [some, named],
  ] as const) {
    const places = [...first];
    intersectPlaces(places, other);
    expect(places).toEqual([placeOf(2, 4), placeOf(2, 9)]);
  }
  const both = [...named];
  intersectPlaces(both, named.slice(1));
  expect(both).toEqual(named.slice(1));
  intersectPlaces(both, []);
  expect(both).toEqual([]);
  const listed = [...some];
  intersectPlaces(listed, [placeOf(2, 9), placeOf(5, 2)]);
  expect(listed).toEqual([placeOf(2, 9)]);
});
