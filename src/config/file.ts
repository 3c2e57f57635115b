import { readFileSync } from 'node:fs';
import { isPlainWord, type Setting, type Settings } from './flags.ts';
import { OPTION_ROWS } from './rows.ts';
import type { OptionSpec } from './spec.ts';
import { suggestion } from './suggest.ts';
import { OPTIONS, type OptionName } from './table.ts';
import { UsageError } from './usage-error.ts';
import { plainValue, readYaml } from './yaml.ts';

/** Reads a config file: YAML, and so JSON too. One file serves every command, so a known key that one has no use for is fine. */
export function readConfigFile(file: Setting): Settings {
  const keys = OPTION_ROWS.map(([name]) => name).filter((name) => name !== 'config');
  const settings = new Map<OptionName, Setting>();
  for (const [key, value] of Object.entries(parseConfigFile(file.text))) {
    const name = keys.find((known) => known === key);
    if (name === undefined) {
      const shown = isPlainWord(key) ? ` ${key}` : '';
      throw new UsageError(`${file.text}: unknown key${shown}.${suggestion(key, keys)}`);
    }
    const origin = `${file.text}: ${key}`;
    settings.set(name, { text: textOf(OPTIONS[name], value, origin), origin });
  }
  return settings;
}

function textOf({ isNested, ...spec }: OptionSpec, value: unknown, where: string): string {
  if (isNested !== true || typeof value !== 'object' || value === null || Array.isArray(value)) {
    return plainText(spec, value, where);
  }
  const parts = Object.entries(value).flatMap(([outer, values]) => {
    if (typeof values !== 'object' || values === null)
      throw new UsageError(`${where}.${outer} must hold keys and values`);
    return Object.entries(values).map(([inner, each]) => {
      // As if it were the only one: a list is one value here.
      return `${outer}.${inner}=${plainText({ repeatable: true }, each, `${where}.${outer}.${inner}`)}`;
    });
  });
  return parts.join(',');
}

function plainText(
  { repeatable, isSwitch }: Pick<OptionSpec, 'repeatable' | 'isSwitch'>,
  value: unknown,
  where: string,
): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  if (isSwitch === true && typeof value === 'boolean') return value ? 'on' : 'off';
  if (repeatable === true && Array.isArray(value) && value.every((entry) => typeof entry === 'string')) {
    return value.join(',');
  }
  throw new UsageError(`${where} must be a string or a number`);
}

function parseConfigFile(name: string): object {
  let content: string;
  try {
    content = readFileSync(name, 'utf8');
  } catch (cause) {
    throw new UsageError(`config file ${name} cannot be read: ${String(cause)}`, { cause });
  }
  const what = `config file ${name}`;
  const parsed = plainValue(readYaml(content, what), what);
  // All of its lines commented out.
  if (parsed === null) return {};
  if (typeof parsed === 'object' && !Array.isArray(parsed)) return parsed;
  throw new UsageError(`${what} must hold keys and values`);
}
