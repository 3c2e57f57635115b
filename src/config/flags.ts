import { parseArgs } from 'node:util';
import { flagOf, OPTION_ROWS, rowsOf } from './rows.ts';
import type { Command, OptionSpec } from './spec.ts';
import { suggestion } from './suggest.ts';
import { OPTIONS, type OptionName } from './table.ts';
import { UsageError } from './usage-error.ts';

/** What an option was set to, and where, for messages. */
export interface Setting {
  readonly text: string;
  readonly origin: string;
}

export type Settings = ReadonlyMap<OptionName, Setting>;

const NAMES: ReadonlyMap<string, OptionName> = new Map(OPTION_ROWS.map(([name]) => [flagOf(name), name]));

/** The arguments as node:util reads them: it is told which flags take a value, and leaves the judging to us. */
function tokensOf(args: readonly string[]) {
  const options: Record<string, { type: 'boolean' | 'string'; short?: string }> = {
    help: { type: 'boolean', short: 'h' },
  };
  for (const [name, { isSwitch }] of OPTION_ROWS) {
    options[flagOf(name).slice(2)] = { type: isSwitch === true ? 'boolean' : 'string' };
  }
  return parseArgs({ args: [...args], options, strict: false, tokens: true }).tokens;
}

/** Whether `--help` or `-h` is among the flags, whatever the others are. */
export function asksForHelp(args: readonly string[]): boolean {
  // As it was written: node:util takes `-threads` for seven short flags, of which one is -h.
  return tokensOf(args).some(
    (token) => token.kind === 'option' && ['--help', '-h'].includes(args[token.index] ?? ''),
  );
}

/** Reads the flags of a command. */
export function readFlags(command: Command, args: readonly string[]): Settings {
  const accepted = rowsOf(command).map(([name]) => flagOf(name));
  const settings = new Map<OptionName, Setting>();
  for (const token of tokensOf(args)) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      const argument = isPlainWord(token.value) ? JSON.stringify(token.value) : `(number ${token.index + 1})`;
      throw new UsageError(`unexpected argument ${argument}`);
    }
    const [flag = ''] = (args[token.index] ?? '').split('=', 1);
    const name = NAMES.get(flag);
    if (name === undefined) throw new UsageError(`unknown option ${flag}.${suggestion(flag, accepted)}`);
    if (!accepted.includes(flag)) {
      const hints = [`it is one of ${OPTIONS[name].commands.join(', ')}`];
      throw new UsageError(`${flag} is not an option of ${command}`, { hints });
    }
    const { repeatable, isSwitch }: OptionSpec = OPTIONS[name];
    const before = settings.get(name);
    if (before !== undefined && repeatable !== true) throw new UsageError(`${flag} is given twice`);
    const text = token.value ?? (isSwitch === true ? 'on' : undefined);
    // Without `=`, a value never starts with two dashes: `--data --threads 2` is a forgotten value, not a folder.
    if (text === undefined || (token.inlineValue !== true && text.startsWith('--'))) {
      throw new UsageError(`${flag} needs a value`);
    }
    settings.set(name, { text: before === undefined ? text : `${before.text},${text}`, origin: flag });
  }
  return settings;
}

/** Whether a message may repeat a text: no address, which may have a credential in it. */
export function isPlainWord(text: string): boolean {
  return /^[\w.-]*$/.test(text);
}
