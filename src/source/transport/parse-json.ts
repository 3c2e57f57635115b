import { exceeds } from '../../primitives/json-text.ts';

/** Answers of nodes nest less than ten deep. */
const MAX_DEPTH = 64;
/** Text below this size cannot become much. */
const CHECKED_CHARS = 4_096;
/** What nodes answer has more than this many characters for each value and each name: quotes and hex. */
const CHARS_PER_ELEMENT = 16;

/** Why text of somebody else's is not parsed, or what it holds. */
export type Parsed = { readonly value: unknown } | { readonly refusal: string };

/**
 * Parses JSON that may be made to hurt. Brackets and empty objects cost up to two hundred times their text once they are
 * parsed, so that is refused before: what holds more than nodes ever say, for text of at most `maxChars`.
 */
export function parseJson(text: string, maxChars: number): Parsed {
  const limits = { depth: MAX_DEPTH, elements: Math.max(CHECKED_CHARS, maxChars / CHARS_PER_ELEMENT) };
  if (text.length > CHECKED_CHARS && exceeds(text, limits) !== undefined) {
    return { refusal: 'JSON that nests too deep, or holds too many values' };
  }
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { refusal: 'not JSON' };
  }
}
