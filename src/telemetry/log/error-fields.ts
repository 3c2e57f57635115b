import { inspect } from 'node:util';

const MAX_CAUSES = 5;
const MAX_FRAMES = 10;
const MAX_CHARS = 1_000;

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
    if (typeof value === 'bigint') fields[name] = value.toString();
    else if (typeof value !== 'function') fields[name] = typeof value === 'string' ? shorten(value) : value;
  }
  const frames = framesOf(error);
  if (frames.length > 0) fields['stack'] = frames;
  if (cause !== undefined && causesLeft > 0) fields['cause'] = errorFields(cause, causesLeft - 1);
  if (error instanceof AggregateError && causesLeft > 0) {
    fields['errors'] = error.errors.slice(0, MAX_CAUSES).map((one) => errorFields(one, causesLeft - 1));
  }
  return fields;
}

function framesOf({ stack = '' }: Error): readonly string[] {
  // The first lines repeat name and message, which may have lines of its own.
  const frames = stack.split('\n').flatMap((line) => /^\s+at (.*)$/.exec(line)?.[1] ?? []);
  return frames.slice(0, MAX_FRAMES).map((frame) => frame.replaceAll('file://', ''));
}

function shorten(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}
