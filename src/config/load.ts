import { chainDefaults } from './chain-defaults.ts';
import { readConfigFile } from './file.ts';
import { readFlags, type Setting, type Settings } from './flags.ts';
import { commandWith } from './help/help.ts';
import { flagOf, rowsOf, variableOf } from './rows.ts';
import { type Command, isRequired, type OptionSpec } from './spec.ts';
import type { CommandOptions, OptionName } from './table.ts';
import { UsageError } from './usage-error.ts';

/** Where options come from; a test gives its own. */
export interface OptionSources {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

const DEFAULT = 'default';

/** Whether nobody has set it. */
export function isDefault({ origin }: Setting): boolean {
  return origin === DEFAULT || origin.startsWith(`${DEFAULT} of `);
}

/** Resolves the options of a command. Precedence: flag, environment variable, config file, default of the chain, default. */
export function loadOptions<C extends Command>(command: C, sources: OptionSources): CommandOptions<C> {
  const settings = settingsOf(command, sources);
  const options: Partial<Record<OptionName, unknown>> = {};
  for (const [name, spec] of rowsOf(command)) {
    const setting = settings.get(name);
    if (setting !== undefined) options[name] = parseSetting(spec, setting);
    else if (isRequired(spec, command)) {
      throw new UsageError(`${flagOf(name)} ${spec.value} is missing (or set ${variableOf(name)})`, {
        hints: [`run: ${commandWith(command, name, spec)}`],
      });
    } else options[name] = undefined;
  }
  // The rows of the command are exactly the keys of CommandOptions, and each parser returns its row's type.
  return options as CommandOptions<C>;
}

/** What each option of a command is set to, and by what. */
export function settingsOf(command: Command, sources: OptionSources): Settings {
  const flags = readFlags(command, sources.args);
  const variables = readVariables(command, sources.env);
  const configFile = flags.get('config') ?? variables.get('config');
  const file: Settings = configFile === undefined ? new Map() : readConfigFile(configFile);

  const set = (name: OptionName): Setting | undefined =>
    flags.get(name) ?? variables.get(name) ?? file.get(name);
  const chain = set('chain')?.text;
  const defaults = chainDefaults(chain);
  const settings = new Map<OptionName, Setting>();
  for (const [name, spec] of rowsOf(command)) {
    const ofChain = defaults[name];
    const own = ofChain === undefined ? undefined : { text: ofChain, origin: `${DEFAULT} of ${chain}` };
    const setting = set(name) ?? own ?? defaultOf(spec);
    if (setting !== undefined) settings.set(name, setting);
  }
  return settings;
}

function defaultOf(spec: OptionSpec): Setting | undefined {
  return spec.default === undefined ? undefined : { text: spec.default, origin: DEFAULT };
}

function parseSetting(spec: OptionSpec, setting: Setting): unknown {
  try {
    return spec.parse(setting.text);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const given = spec.isSecret === true ? '' : `, not ${JSON.stringify(setting.text)}`;
    throw new UsageError(`${setting.origin}: ${error.message}${given}`, { hints: error.hints });
  }
}

function readVariables(command: Command, env: OptionSources['env']): Settings {
  const settings = new Map<OptionName, Setting>();
  for (const [name] of rowsOf(command)) {
    // Secrets of Kubernetes and files often end in a line end.
    const text = env[variableOf(name)]?.trim();
    // An empty variable is how compose files and shells spell "unset".
    if (text !== undefined && text !== '') settings.set(name, { text, origin: variableOf(name) });
  }
  return settings;
}
