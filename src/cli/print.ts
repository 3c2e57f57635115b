import { styleText } from 'node:util';

interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** One JSON document, for scripts. */
export function printJson(stdout: Output, value: unknown): void {
  stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

type Colour = 'green' | 'yellow' | 'red' | 'bold' | 'dim' | 'cyan';

/** Colours a text, or leaves it as it is. */
export type Paint = (colour: Colour, text: string) => string;

/** Colours are for terminals, and for nobody who asks for none (NO_COLOR, TERM=dumb). */
export function painter({ isTTY }: Output, env: Readonly<Record<string, string | undefined>>): Paint {
  const refused = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  if (isTTY !== true || refused) return (_, text) => text;
  return (colour, text) => styleText(colour, text, { validateStream: false });
}
