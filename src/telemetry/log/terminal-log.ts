import { isatty } from 'node:tty';

/** Whether a person reads the log as it is written. */
export const isLogRead = isatty(2);

const KEPT_FIELDS = 300;

/** A line of the log as a person reads it: time, level, words, and the fields but for stacks. */
export function terminalLine(line: string): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line) as {
    readonly level: string;
    readonly time: string;
    readonly msg?: string;
    readonly err?: { readonly message?: string };
  };
  const clock = new Date(time).toTimeString().slice(0, 8);
  const said = err?.message;
  const words = [msg, said === msg ? undefined : said].filter((part) => part !== undefined).join(': ');
  const rest = Object.keys(fields).length === 0 ? '' : `  ${shortened(JSON.stringify(fields))}`;
  return `${clock} ${level.padEnd(5)} ${JSON.stringify(words).slice(1, -1).replaceAll('\\"', '"')}${rest}\n`;
}

function shortened(text: string): string {
  return text.length <= KEPT_FIELDS ? text : `${text.slice(0, KEPT_FIELDS)}…`;
}
