import { skipString } from '../../primitives/json-text.ts';

/**
 * `id` is echoed byte for byte, and JSON.parse forgets how a number or an escape was written. These functions
 * find the source text of `id` in a request whose syntax JSON.parse has already accepted.
 */

const QUOTE = 34;

/** Source text of the id of a single request, whose parsed value is `id`. */
export function idSource(text: string, id: string | number | null): string {
  if (id === null) return 'null';
  if (typeof id === 'string') {
    // Without any escape in the text, a string's source is the string itself.
    return text.includes('\\') ? (scanIds(text)[0] ?? 'null') : `"${id}"`;
  }
  // The two places where clients put a number, each unambiguous; any other takes the scan.
  const source = String(id);
  if (text.startsWith(`{"jsonrpc":"2.0","id":${source},`)) return source;
  if (text.endsWith(`,"id":${source}}`) || text.endsWith(`,"id":${source},"jsonrpc":"2.0"}`)) return source;
  return scanIds(text)[0] ?? source;
}

/** Source texts of the `id` of a request, or of each entry of a batch; the last one counts where there are several. */
export function scanIds(text: string): (string | undefined)[] {
  const start = skipSpace(text, 0);
  if (text.charCodeAt(start) !== 91) return [text[start] === '{' ? scanObject(text, start).id : undefined];
  const ids: (string | undefined)[] = [];
  let at = skipSpace(text, start + 1);
  while (at < text.length && text[at] !== ']') {
    if (text[at] === '{') {
      const { id, end } = scanObject(text, at);
      ids.push(id);
      at = end;
    } else {
      ids.push(undefined);
      at = skipValue(text, at);
    }
    at = skipSpace(text, at);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return ids;
}

function scanObject(text: string, open: number): { id: string | undefined; end: number } {
  let id: string | undefined;
  let at = skipSpace(text, open + 1);
  while (at < text.length && text[at] !== '}') {
    const keyEnd = skipString(text, at);
    const key = text.slice(at, keyEnd);
    // Past the colon.
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    at = skipValue(text, start);
    if (key === '"id"' || (key.includes('\\') && JSON.parse(key) === 'id')) id = text.slice(start, at);
    at = skipSpace(text, at);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return { id, end: at + 1 };
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (let c = text.charCodeAt(at); c === 32 || c === 9 || c === 10 || c === 13; c = text.charCodeAt(at))
    at++;
  return at;
}

/** The index after the value that starts at `from`, whatever its depth. */
function skipValue(text: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) {
      at = skipString(text, at);
      if (depth === 0) return at;
      continue;
    }
    const opens = c === 91 || c === 123;
    const closes = c === 93 || c === 125;
    if (opens) depth++;
    if (depth === 0 && (closes || c === 44 || c === 32 || c === 9 || c === 10 || c === 13)) return at;
    at++;
    if (closes && --depth === 0) return at;
  }
  return at;
}
