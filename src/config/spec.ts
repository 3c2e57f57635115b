import type { Parser } from './parsers.ts';

/** The commands that exist. */
export const COMMANDS = {
  import: 'Execute and verify a chain from genesis into an embedded store',
  serve: 'Serve a store over JSON-RPC; with upstreams, keep it at the head of a live chain',
  ingest: 'Follow a chain and write it into a store in CQL, for replicas; several wait for each other',
  backfill: 'Fetch and verify history below where a copy began; can be stopped and run again at any time',
  verify: 'Re-check what a store holds',
  snapshot:
    'Export a store as a folder of sealed files, or restore one from it: to back up, to move, to begin with',
  plan: 'Work out what disk, memory and machines a fleet takes',
  doctor: 'Check upstreams, store, clock and limits, and say what to fix',
  chains: 'Print the table of chains: ids, newest forks, pre-confirmations, what is not executed',
  dev: 'Run a local chain with pre-confirmations and serve it: nothing to set up',
  keys: 'Add, list and revoke API keys of the dedicated listener',
  config: 'Check what is configured, or print it with where it comes from; secrets are hidden',
} as const;

export type Command = keyof typeof COMMANDS;

/** What must follow the name of a command that does more than one thing. */
export const VERBS: Partial<Readonly<Record<Command, readonly string[]>>> = {
  keys: ['add', 'list', 'revoke'],
  config: ['check', 'print'],
  snapshot: ['export', 'restore'],
};

const GROUPS = [
  'General',
  'Observing',
  'Chain',
  'Following a chain',
  'Pre-confirmations',
  'Backfilling',
  'Snapshots',
  'Fleet',
  'Listeners',
  'Keys',
  'Rates',
  'Requests',
  'Sending',
  'WebSocket',
  'Filters',
  'eth_getLogs',
  'eth_call',
  'eth_simulateV1',
  'State',
  'Memory and store',
  'Planning',
  'Development',
] as const;

/** One row of the table. Flag, variable and file key follow from its name; `default` is text for the same parser. */
export interface OptionSpec<T = unknown> {
  readonly group: (typeof GROUPS)[number];
  readonly commands: readonly Command[];
  /** What stands for the value in help texts. */
  readonly value: string;
  readonly parse: Parser<T>;
  readonly doc: string;
  /** One of the few that most people set: it stands before the others in help texts. */
  readonly isCommon?: true;
  readonly default?: string;
  /** By which commands. Without it and without a default, the option may be left out. */
  readonly required?: readonly Command[];
  /** Several values: the flag may be given more than once, texts separate them by commas, the file may have a list. */
  readonly repeatable?: true;
  /** In the file it may be values of values: `a: { b: 1 }` is `a.b=1`. */
  readonly isNested?: true;
  /** May carry a credential: messages do not repeat it, least of all one that is wrong. */
  readonly isSecret?: true;
  /** Can be changed in the file of a node that runs (SIGHUP). */
  readonly isReloaded?: true;
  /** The flag alone means `on`. */
  readonly isSwitch?: true;
}

/** Whether a command cannot do without an option that has no default. */
export function isRequired({ required }: Pick<OptionSpec, 'required'>, command: Command): boolean {
  return required?.includes(command) ?? false;
}
