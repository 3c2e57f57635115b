import { InvalidParamsError } from '../../primitives/errors.ts';
import type { Hex } from '../../primitives/hex.ts';
import { isHexFrom } from '../../primitives/parse.ts';

/** Storage keys come in every shape from real clients; the standard takes them all, and words the two errors. */
export function parseSlot(text: string): Hex {
  const start = text.startsWith('0x') || text.startsWith('0X') ? 2 : 0;
  if (text.length - start > 64) {
    throw new InvalidParamsError(`storage key too long (want at most 32 bytes): ${JSON.stringify(text)}`);
  }
  if (!isHexFrom(text, start)) {
    throw new InvalidParamsError(`invalid hex in storage key: ${JSON.stringify(text)}`);
  }
  return `0x${text.slice(start).toLowerCase().padStart(64, '0')}`;
}
