import { InvalidParamsError } from '../../primitives/errors.ts';
import type { Hex } from '../../primitives/hex.ts';
import { isHexFrom } from '../../primitives/parse.ts';

/** As nearly all come, and up to 1,024 in one request. */
const IN_FULL = /^0x[0-9a-f]{64}$/;

/** Storage keys come in every shape from real clients; the standard takes them all, and words the two errors. */
export function parseSlot(text: string): Hex {
  if (IN_FULL.test(text)) return text as Hex;
  const start = text.startsWith('0x') || text.startsWith('0X') ? 2 : 0;
  if (text.length - start > 64) {
    throw new InvalidParamsError(`storage key too long (want at most 32 bytes): ${JSON.stringify(text)}`);
  }
  if (!isHexFrom(text, start)) {
    throw new InvalidParamsError(`invalid hex in storage key: ${JSON.stringify(text)}`);
  }
  return `0x${text.slice(start).toLowerCase().padStart(64, '0')}`;
}
