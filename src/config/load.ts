import { readFileSync } from 'node:fs';
import { readFlags, type Setting, type Settings } from './flags.ts';
import { flagOf, OPTION_ROWS, rowsOf, variableOf } from './rows.ts';
import { type Command, isRequired, type OptionSpec } from './spec.ts';
import { suggestion } from './suggest.ts';
import { type CommandOptions, OPTIONS, type OptionName } from './table.ts';
import { UsageError } from './usage-error.ts';

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
    const given = spec.isSecret === true ? '' : `, not ${JSON.stringify(setting.text)}`;
    throw new UsageError(`${setting.origin}: ${error.message}${given}`);
  }
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
    if (cause instanceof SyntaxError) {
      // Without what V8 quotes of the text, and without the cause that has it: it may be half of a credential.
      const reason = cause.message.replace(/, (?:\.{3})?".*"(?:\.{3})? is not valid JSON$/s, '');
      throw new UsageError(`config file ${file.text} is not JSON: ${reason}`);
    }
    throw new UsageError(`config file ${file.text} cannot be read: ${String(cause)}`, { cause });
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  throw new UsageError(`config file ${file.text} must hold a JSON object`);
}
