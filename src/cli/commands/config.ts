import { stringify } from 'yaml';
import type { Setting } from '../../config/flags.ts';
import { isDefault, type OptionSources, settingsOf } from '../../config/load.ts';
import { OPTION_ROWS, variableOf } from '../../config/rows.ts';
import type { OptionSpec } from '../../config/spec.ts';
import { suggestion } from '../../config/suggest.ts';
import type { CommandOptions, OptionName } from '../../config/table.ts';
import { redactUrls } from '../../telemetry/redact.ts';
import type { CommandContext } from '../dispatch.ts';
import { printJson } from '../print.ts';

/** `chain-query config check|print`: whoever gets here has given options that parse. */
export async function run(
  { json }: Pick<CommandOptions<'config'>, 'json'>,
  { verb, sources, stdout }: CommandContext,
): Promise<void> {
  if (json) printJson(stdout, verb === 'check' ? checked(sources) : printed(sources));
  else stdout.write(verb === 'check' ? check(sources) : print(sources));
}

function checked(sources: OptionSources): object {
  return { ok: true, set: setBy(sources), warnings: unknownVariables(sources.env) };
}

function printed(sources: OptionSources): object {
  const settings = settingsOf('config', sources);
  const options = OPTION_ROWS.map(([name, spec]) => {
    const setting = settings.get(name);
    return [name, setting === undefined ? null : { value: shown(spec, setting), origin: setting.origin }];
  });
  return { options: Object.fromEntries(options) };
}

function setBy(sources: OptionSources): readonly OptionName[] {
  return [...settingsOf('config', sources)].flatMap(([name, setting]) => (isDefault(setting) ? [] : [name]));
}

function shown({ isSecret }: OptionSpec, { text }: Setting): string {
  return isSecret === true ? text.split(',').map(hidden).join(',') : text;
}

function check(sources: OptionSources): string {
  const set = setBy(sources);
  const lines = unknownVariables(sources.env).map((warning) => `warning: ${warning}`);
  return `${[...lines, `ok: ${set.length} options are set, all others have their defaults`].join('\n')}\n`;
}

/** No error: where a service is called chain-query, Kubernetes sets variables that begin as ours do. */
function unknownVariables(env: OptionSources['env']): readonly string[] {
  const known = OPTION_ROWS.map(([name]) => variableOf(name));
  return Object.keys(env)
    .filter((name) => name.startsWith('CHAIN_QUERY_') && !known.includes(name))
    .map((name) => `${name} is not an option.${suggestion(name, known)}`);
}

/** As a config file that says the same, with the origin of each value beside it. */
function print(sources: OptionSources): string {
  const settings = settingsOf('config', sources);
  const lines = OPTION_ROWS.map(([name, spec]) => {
    const setting = settings.get(name);
    if (setting === undefined) return `# ${name}: not set`;
    const text = shown(spec, setting);
    const value = /^\d{1,15}$/.test(text) ? Number(text) : text;
    const line = `${stringify({ [name]: value }).trimEnd()}  # ${setting.origin}`;
    return name === 'config' ? `# ${line}` : line;
  });
  return `${lines.join('\n')}\n`;
}

/** Where there may be a secret, only what is known to be none is shown. */
function hidden(text: string): string {
  if (text === 'off') return text;
  return text.includes('://') ? redactUrls(text) : '***';
}
