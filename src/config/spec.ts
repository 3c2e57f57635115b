import type { Parser } from './parsers.ts';

/** The commands that exist. */
export const COMMANDS = {
  import: 'Execute and verify a chain from genesis into an embedded store',
  serve: 'Serve a store over JSON-RPC',
  verify: 'Re-check what a store holds',
} as const;

export type Command = keyof typeof COMMANDS;

const GROUPS = [
  'General',
  'Chain',
  'Listeners',
  'Requests',
  'eth_getLogs',
  'eth_call',
  'Memory and store',
] as const;

/** One row of the table. Flag, variable and file key follow from its name; `default` is text for the same parser. */
export interface OptionSpec<T = unknown> {
  readonly group: (typeof GROUPS)[number];
  readonly commands: readonly Command[];
  /** What stands for the value in help texts. */
  readonly value: string;
  readonly parse: Parser<T>;
  readonly doc: string;
  readonly default?: string;
  /** Without it and without a default, the option may be left out. */
  readonly required?: true;
}
