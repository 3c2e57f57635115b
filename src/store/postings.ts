import { ByteReader, ByteWriter, CodecError } from '../chain/byte-codec.ts';

/** Blocks per row of the closed postings: a hot value costs one row a bucket, a rare one a row an occurrence. */
export const bucketBlocks = 256;
/** A place in a bucket packs the block's offset (8 bits) over the log's index (24 bits). */
export const maxLogsPerBlock = 2 ** 24;

/** The place of log `index` of block `number` in its bucket; places sort as logs do. */
export function placeOf(number: number, index: number): number {
  return (number % bucketBlocks) * maxLogsPerBlock + index;
}

/** Encodes the ascending places of one value in one bucket, as gaps per block. */
export function encodePlaces(places: readonly number[]): Buffer {
  const out = new ByteWriter(places.length + 16);
  let previousBlock = 0;
  for (let at = 0; at < places.length; ) {
    const block = Math.floor((places[at] ?? 0) / maxLogsPerBlock);
    let end = at + 1;
    while (end < places.length && Math.floor((places[end] ?? 0) / maxLogsPerBlock) === block) end++;
    out.varint(block - previousBlock);
    out.varint(end - at);
    let previous = block * maxLogsPerBlock;
    for (; at < end; at++) {
      const place = places[at] ?? 0;
      out.varint(place - previous);
      previous = place;
    }
    previousBlock = block;
  }
  return out.finish();
}

/** Appends the places of an encoded row to `into`, ascending. */
export function decodePlaces(bytes: Uint8Array, into: number[]): void {
  for (const _ of decodeBlocks(bytes, () => into));
}

/** The same block by block, each to where `into` says; the row of a hot value is long. Gives the offset of each block. */
export function* decodeBlocks(
  bytes: Uint8Array,
  into: (block: number) => number[],
): Generator<number, void, void> {
  const input = new ByteReader(bytes);
  let block = 0;
  while (input.remaining > 0) {
    block += input.varint();
    if (block >= bucketBlocks) throw new CodecError('block offset out of its bucket');
    const places = into(block);
    let index = 0;
    for (let left = input.count(1); left > 0; left--) {
      index += input.varint();
      if (index >= maxLogsPerBlock) throw new CodecError('log index out of range');
      places.push(block * maxLogsPerBlock + index);
    }
    yield block;
  }
}

/** Intersects ascending lists, in place of the first. */
export function intersect(places: number[], other: readonly number[]): void {
  let kept = 0;
  let at = 0;
  for (const place of places) {
    while (at < other.length && (other[at] ?? 0) < place) at++;
    if (at === other.length) break;
    if (other[at] === place) places[kept++] = place;
  }
  places.length = kept;
}

/** Sorts the places of several alternatives into one ascending list without repeats. */
export function union(places: number[]): number[] {
  const all = Float64Array.from(places).sort();
  const out: number[] = [];
  for (const place of all) if (out.at(-1) !== place) out.push(place);
  return out;
}
