import type { Point } from '../../head/head.ts';
import { RpcFailure } from './error-map.ts';

/** By this request header a client says which block or flashblock the answer must know of (B3). */
export const AT_LEAST_HEADER = 'x-chain-at-least';

/** Any number of this many digits is exact. */
const AT_LEAST = /^(\d{1,15})(?:;(\d{1,9}))?$/;

/**
 * Reads `<number>[;<index>]`, in decimal like `x-chain-head` and `x-chain-pending`. The index names a flashblock of
 * block `number`; that block confirmed contains it too. Anything malformed is refused with HTTP 400: to ignore it
 * would be to read backwards, silently.
 */
export function parseAtLeast(value: string): Point {
  const [, number, index] = AT_LEAST.exec(value) ?? [];
  if (number === undefined) throw new RpcFailure({ code: 'BAD_AT_LEAST', header: AT_LEAST_HEADER });
  return { number: Number(number), index: index === undefined ? undefined : Number(index) };
}

/** The point where everybody begins. */
export const ANY_POINT: Point = { number: 0 };

/** In the words of the header. */
export function formatPoint({ number, index }: Point): string {
  return index === undefined ? `${number}` : `${number};${index}`;
}
