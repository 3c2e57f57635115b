import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { isPlainWord, type Setting, type Settings } from './flags.ts';
import { OPTION_ROWS } from './rows.ts';
import type { OptionSpec } from './spec.ts';
import { suggestion } from './suggest.ts';
import { OPTIONS, type OptionName } from './table.ts';
import { UsageError } from './usage-error.ts';

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

function textOf({ repeatable, isSwitch }: OptionSpec, value: unknown, where: string): string {
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
  const document = parseDocument(content);
  const mistake = document.errors[0] ?? document.warnings[0];
  if (mistake !== undefined) {
    // Its code and place alone: the message quotes the line, which may hold a credential.
    const where = mistake.linePos === undefined ? '' : ` in line ${mistake.linePos[0].line}`;
    const what = mistake.code.toLowerCase().replaceAll('_', ' ');
    throw new UsageError(`config file ${name} is not YAML: ${what}${where}`);
  }
  let parsed: unknown;
  try {
    // References would let a small file stand for a huge one; no option needs them.
    parsed = document.toJS({ maxAliasCount: 0 });
  } catch {
    throw new UsageError(`config file ${name} must not use aliases`);
  }
  // All of its lines commented out.
  if (parsed === null) return {};
  if (typeof parsed === 'object' && !Array.isArray(parsed)) return parsed;
  throw new UsageError(`config file ${name} must hold keys and values`);
}
