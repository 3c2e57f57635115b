import type { Parser } from './parsers.ts';

/** The commands that exist, each in a line that fits a help screen. */
export const COMMANDS = {
  dev: 'Run a local chain with pre-confirmations: nothing to set up',
  serve: 'Serve a store over JSON-RPC; with --upstream, follow a live chain',
  ingest: 'Follow a chain into the store of a fleet; others wait',
  import: 'Execute and verify a chain from genesis into an embedded store',
  backfill: 'Fetch and verify history below where a copy began; can be resumed',
  snapshot: 'Export a store as a folder of sealed files, or restore one from it',
  doctor: 'Check upstreams, store, clock and limits, and say what to fix',
  verify: 'Re-check what a store holds',
  plan: 'Work out what disk, memory and machines a fleet takes',
  chains: 'Print the chains known by name: ids, forks, pre-confirmations',
  keys: 'Add, list and revoke API keys of the dedicated listener',
  config: 'Check or print what is configured, and by what; hides secrets',
  completion: 'Print a script that completes commands and options in a shell',
} as const;

export type Command = keyof typeof COMMANDS;

/** What must follow the name of a command that does more than one thing. */
export const VERBS: Partial<Readonly<Record<Command, readonly string[]>>> = {
  keys: ['add', 'list', 'revoke'],
  config: ['check', 'print'],
  snapshot: ['export', 'restore'],
  completion: ['bash', 'zsh', 'fish'],
};

/** The commands as help shows them; a test holds that each is in one group. */
export const COMMAND_GROUPS: Readonly<Record<string, readonly Command[]>> = {
  Run: ['dev', 'serve', 'ingest'],
  'Load and keep': ['import', 'backfill', 'snapshot'],
  'Look and plan': ['doctor', 'verify', 'plan', 'chains'],
  'Set up': ['keys', 'config', 'completion'],
};

/** How each command is most often run. */
export const EXAMPLES: Readonly<Record<Command, string>> = {
  dev: 'dev',
  serve: 'serve --chain op-mainnet --upstream https://HOST',
  ingest: 'ingest --store cql://HOST/KEYSPACE --upstream https://HOST',
  import: 'import --data DIR --genesis FILE --blocks FILE.rlp',
  backfill: 'backfill --data DIR --upstream https://HOST --from 0',
  snapshot: 'snapshot export --data DIR --snapshot FOLDER',
  doctor: 'doctor --chain op-mainnet --upstream https://HOST',
  verify: 'verify --data DIR',
  plan: 'plan --chain base --rps 1000 --retention 90d',
  chains: 'chains',
  keys: 'keys add --keys keys.yaml --key-name alice',
  config: 'config print --config node.yaml',
  completion: 'completion bash',
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
  /** Marks one of the few that most people set: what a help screen says of it, within a line. */
  readonly brief?: string;
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
