import { ByteWriter } from '../../../chain/byte-codec.ts';
import { decodeBlocks, encodePlaces, intersect, maxLogsPerBlock } from '../../postings.ts';

/** Places that a row lists at most. One with more only says which blocks have the value, so that a hot value's rows stay small. */
const MOST_PLACES = 1_024;
/** Stands for any log of a block: no block has so many. */
const ANY_LOG = maxLogsPerBlock - 1;
/** Places that such a block counts as, at least: it has been named in a row with more than others have. */
const PLACES_OF_ANY = 16;

/** Encodes the ascending places of one value in the blocks of a row. */
export function encodeRow(places: readonly number[]): Buffer {
  if (places.length <= MOST_PLACES) return encodePlaces(places);
  const out = new ByteWriter();
  let previous = 0;
  for (const block of new Set(places.map(blockOf))) {
    out.varint(block - previous);
    // A block without places is one of which any log may have the value.
    out.varint(0);
    previous = block;
  }
  return out.finish();
}

/** Appends the places of an encoded row to `into`, ascending; one that stands for any log where only the block was named. */
export function decodeRow(bytes: Uint8Array, into: number[]): void {
  let before = into.length;
  for (const block of decodeBlocks(bytes, () => into)) {
    if (into.length === before) into.push(block * maxLogsPerBlock + ANY_LOG);
    before = into.length;
  }
}

/** Leaves those places of the first list that the other may have as well: both ascending, in place of the first. */
export function intersectPlaces(places: number[], other: readonly number[]): void {
  if (!places.some(isAny) && !other.some(isAny)) {
    intersect(places, other);
    return;
  }
  const others = Map.groupBy(other, blockOf);
  const blocks = [...Map.groupBy(places, blockOf)];
  places.length = 0;
  for (const [block, own] of blocks) {
    const theirs = others.get(block) ?? [];
    const isOther = theirs.some(isAny);
    const left = !isOther && own.some(isAny) ? theirs : own;
    if (left === own && !isOther) intersect(own, theirs);
    for (const place of left) places.push(place);
  }
}

/** How many logs have to be looked at for these places, about. */
export function countPlaces(places: readonly number[]): number {
  return places.reduce((sum, place) => sum + (isAny(place) ? PLACES_OF_ANY : 1), 0);
}

/** The logs of each block that places name, by its offset; undefined where that may be any. */
export function logsByBlock(places: readonly number[]): Map<number, readonly number[] | undefined> {
  const blocks = Map.groupBy(places, blockOf);
  return new Map(
    [...blocks].map(([block, own]) => [
      block,
      own.some(isAny) ? undefined : own.map((place) => place % maxLogsPerBlock),
    ]),
  );
}

function blockOf(place: number): number {
  return Math.floor(place / maxLogsPerBlock);
}

function isAny(place: number): boolean {
  return place % maxLogsPerBlock === ANY_LOG;
}
