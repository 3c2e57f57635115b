import { readFileSync } from 'node:fs';
import { flagOf, OPTION_ROWS, rowsOf, variableOf } from './rows.ts';
import { type Command, isRequired, type OptionSpec } from './spec.ts';
import { suggestion } from './suggest.ts';
import { type CommandOptions, OPTIONS, type OptionName } from './table.ts';
import { UsageError } from './usage-error.ts';

/** What an option was set to, and where, for messages. */
interface Setting {
  readonly text: string;
  readonly origin: string;
}

type Settings = ReadonlyMap<OptionName, Setting>;

/** Where options come from; a test gives its own. */
export interface OptionSources {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Resolves the options of a command. Precedence: flag, environment variable, config file, default. */
export function loadOptions<C extends Command>(command: C, sources: OptionSources): CommandOptions<C> {
  const flags = readFlags(command, sources.args);
  const variables = readVariables(command, sources.env);
  const configFile = flags.get('config') ?? variables.get('config');
  const file: Settings = configFile === undefined ? new Map() : readConfigFile(configFile);

  const options: Partial<Record<OptionName, unknown>> = {};
  for (const [name, spec] of rowsOf(command)) {
    const setting = flags.get(name) ?? variables.get(name) ?? file.get(name) ?? defaultOf(spec);
    if (setting !== undefined) options[name] = parseSetting(spec, setting);
    else if (isRequired(spec, command)) {
      throw new UsageError(`${flagOf(name)} ${spec.value} is missing (or set ${variableOf(name)})`);
    } else options[name] = undefined;
  }
  // The rows of the command are exactly the keys of CommandOptions, and each parser returns its row's type.
  return options as CommandOptions<C>;
}

function defaultOf(spec: OptionSpec): Setting | undefined {
  return spec.default === undefined ? undefined : { text: spec.default, origin: 'default' };
}

function parseSetting(spec: OptionSpec, setting: Setting): unknown {
  try {
    return spec.parse(setting.text);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${setting.origin}: ${error.message}, not ${JSON.stringify(setting.text)}`);
  }
}

function readFlags(command: Command, args: readonly string[]): Settings {
  const names = new Map(OPTION_ROWS.map(([name]) => [flagOf(name), name]));
  const settings = new Map<OptionName, Setting>();
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [flag = '', ...inline] = arg.split('=');
    const name = names.get(flag);
    if (!flag.startsWith('-')) throw new UsageError(`unexpected argument ${JSON.stringify(arg)}`);
    const accepted = rowsOf(command).map(([known]) => flagOf(known));
    if (name === undefined) throw new UsageError(`unknown option ${flag}.${suggestion(flag, accepted)}`);
    if (!accepted.includes(flag)) throw new UsageError(`${flag} is not an option of ${command}`);
    const { repeatable, isSwitch }: OptionSpec = OPTIONS[name];
    const before = settings.get(name);
    if (before !== undefined && repeatable !== true) throw new UsageError(`${flag} is given twice`);
    const bare = isSwitch === true ? 'on' : rest.shift();
    const text = inline.length > 0 ? inline.join('=') : bare;
    // A value never starts with two dashes, so `--data --threads 2` is a forgotten value, not a folder.
    if (text === undefined || text.startsWith('--')) throw new UsageError(`${flag} needs a value`);
    settings.set(name, { text: before === undefined ? text : `${before.text},${text}`, origin: flag });
  }
  return settings;
}

function readVariables(command: Command, env: OptionSources['env']): Settings {
  const settings = new Map<OptionName, Setting>();
  for (const [name] of rowsOf(command)) {
    const text = env[variableOf(name)];
    // An empty variable is how compose files and shells spell "unset".
    if (text !== undefined && text !== '') settings.set(name, { text, origin: variableOf(name) });
  }
  return settings;
}

/** One file serves every command, so a known key that this command has no use for is fine. */
function readConfigFile(file: Setting): Settings {
  const keys = OPTION_ROWS.map(([name]) => name).filter((name) => name !== 'config');
  const settings = new Map<OptionName, Setting>();
  for (const [key, value] of Object.entries(parseConfigFile(file))) {
    const name = keys.find((known) => known === key);
    if (name === undefined) throw new UsageError(`${file.text}: unknown key ${key}.${suggestion(key, keys)}`);
    settings.set(name, {
      text: fileText(OPTIONS[name], value, `${file.text}: ${key}`),
      origin: `${file.text}: ${key}`,
    });
  }
  return settings;
}

function fileText({ repeatable, isSwitch }: OptionSpec, value: unknown, where: string): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  if (isSwitch === true && typeof value === 'boolean') return value ? 'on' : 'off';
  if (repeatable === true && Array.isArray(value) && value.every((entry) => typeof entry === 'string')) {
    return value.join(',');
  }
  throw new UsageError(`${where} must be a string or a number`);
}

function parseConfigFile(file: Setting): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(file.text, 'utf8'));
  } catch (cause) {
    const reason =
      cause instanceof SyntaxError ? `is not JSON: ${cause.message}` : `cannot be read: ${String(cause)}`;
    throw new UsageError(`config file ${file.text} ${reason}`, { cause });
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  throw new UsageError(`config file ${file.text} must hold a JSON object`);
}
