import type { Command, OptionSpec } from './spec.ts';
import { OPTIONS, type OptionName } from './table.ts';

/** The rows of the table, in order. */
export const OPTION_ROWS = Object.entries(OPTIONS) as readonly (readonly [OptionName, OptionSpec])[];

/** The rows that one command takes, or all of them, as `config` does. */
export function rowsOf(command?: Command): typeof OPTION_ROWS {
  if (command === undefined || command === 'config') return OPTION_ROWS;
  // It is a node that serves nobody.
  const by = command === 'ingest' ? 'serve' : command;
  return OPTION_ROWS.filter(([, spec]) => spec.commands.includes(by));
}

/** `maxBodyBytes` → `--max-body-bytes` */
export function flagOf(name: OptionName): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `maxBodyBytes` → `CHAIN_QUERY_MAX_BODY_BYTES` */
export function variableOf(name: OptionName): string {
  return `CHAIN_QUERY_${flagOf(name).slice(2).replaceAll('-', '_').toUpperCase()}`;
}

/** The flag with what stands for its value. */
export function usageOf(name: OptionName, spec: OptionSpec): string {
  if (spec.isSwitch === true) return flagOf(name);
  return `${flagOf(name)} ${spec.value}${spec.repeatable === true ? '…' : ''}`;
}
