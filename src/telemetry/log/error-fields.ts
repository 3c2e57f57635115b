import { inspect } from 'node:util';

const MAX_CAUSES = 5;
const MAX_FRAMES = 10;
const MAX_CHARS = 1_000;
const MAX_ITEMS = 10;
const MAX_DEPTH = 3;

/**
 * An error as fields of a log line, with its causes. Its stack is a list: one text with escaped line ends is nothing
 * that people can read, and a line that is too long may be torn by those of other threads.
 */
export function errorFields(error: unknown, causesLeft: number = MAX_CAUSES): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : shorten(inspect(error));
  const { cause } = error;
  const fields: Record<string, unknown> = { type: error.name, message: shorten(error.message) };
  for (const [name, value] of Object.entries(error)) {
    if (name in fields || name === 'name' || name === 'cause' || name === 'errors' || name === 'stack')
      continue;
    if (typeof value !== 'function') fields[name] = fieldOf(value, MAX_DEPTH);
  }
  const frames = framesOf(error);
  if (frames.length > 0) fields['stack'] = frames;
  if (cause !== undefined && causesLeft > 0) fields['cause'] = errorFields(cause, causesLeft - 1);
  if (error instanceof AggregateError && causesLeft > 0) {
    fields['errors'] = error.errors.slice(0, MAX_CAUSES).map((one) => errorFields(one, causesLeft - 1));
  }
  return fields;
}

/** A value of an error as a log can have it: of bytes, such as a whole block, only how many there are. */
function fieldOf(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return shorten(value);
  if (typeof value === 'bigint') return value.toString();
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return shorten(inspect(value, { depth: 0 }));
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => fieldOf(item, depth - 1));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fieldOf(item, depth - 1)]));
}

function framesOf({ stack = '' }: Error): readonly string[] {
  // The first lines repeat name and message, which may have lines of its own.
  const frames = stack.split('\n').flatMap((line) => /^\s+at (.*)$/.exec(line)?.[1] ?? []);
  return frames.slice(0, MAX_FRAMES).map((frame) => frame.replaceAll('file://', ''));
}

function shorten(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}
