import { RpcFailure } from './error-map.ts';

/** By this request header a client says which block the answer must know of (B3). */
export const AT_LEAST_HEADER = 'x-chain-at-least';

/** Any number of this many digits is exact. */
const AT_LEAST = /^(\d{1,15})(?:;\d{1,9})?$/;

/**
 * Reads `<number>[;<index>]`, in decimal like `x-chain-head`. The index names a pre-confirmed state of block `number`;
 * while a node holds none, only that block itself, confirmed, is known to contain it. Anything malformed is refused
 * with HTTP 400: to ignore it would be to read backwards, silently.
 */
export function parseAtLeast(value: string): number {
  const [, number] = AT_LEAST.exec(value) ?? [];
  if (number === undefined) throw new RpcFailure({ code: 'BAD_AT_LEAST', header: AT_LEAST_HEADER });
  return Number(number);
}
