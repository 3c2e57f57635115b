/** JSON looked at as text: what parsing it would cost shows in its brackets and commas. */

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;

/** What makes text slow to parse: nesting, and the number of values and names in it. */
export interface Complexity {
  readonly depth: number;
  readonly elements: number;
}

/** What of `limit` a text exceeds, if anything; a cheap guard before it is parsed. */
export function exceeds(text: string, limit: Complexity): keyof Complexity | undefined {
  let depth = 0;
  let elements = 0;
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) at = skipString(text, at) - 1;
    else if (c === 91 || c === 123) {
      elements++;
      if (++depth > limit.depth) return 'depth';
    } else if (c === 93 || c === 125) depth--;
    else if (c === COMMA || c === COLON) elements++;
    if (elements > limit.elements) return 'elements';
  }
  return undefined;
}

/** The index after the string that opens at `from`. */
export function skipString(text: string, from: number): number {
  let close = text.indexOf('"', from + 1);
  while (close !== -1) {
    let backslashes = 0;
    while (text.charCodeAt(close - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return close + 1;
    close = text.indexOf('"', close + 1);
  }
  return text.length;
}
