import { PROFILE_DEFAULTS, PROFILE_SETTINGS } from './profiles.ts';
import { flagOf, type OPTION_ROWS, rowsOf, variableOf } from './rows.ts';
import { COMMANDS, type Command, isRequired, type OptionSpec, VERBS } from './spec.ts';
import type { OptionName } from './table.ts';

/** The help text of the program. */
export function renderHelp(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((command) => command.length));
  const commands = Object.entries(COMMANDS).map(([command, doc]) => `  ${command.padEnd(width)}  ${doc}`);
  return `${[
    'Usage: chain-query <command> [options]',
    '',
    'Commands:',
    ...commands,
    '',
    'chain-query <command> --help lists the options of a command.',
    'chain-query --version prints the version.',
  ].join('\n')}\n`;
}

/** The help text of one command. */
export function renderCommandHelp(command: Command): string {
  const rows = rowsOf(command);
  const width = Math.max(...rows.map(([name, spec]) => usageOf(name, spec).length));
  const verbs = VERBS[command] === undefined ? '' : ` ${VERBS[command].join('|')}`;
  const lines = [`Usage: chain-query ${command}${verbs} [options]`, '', `${COMMANDS[command]}.`];
  for (const [heading, section] of sectionsOf(rows)) {
    lines.push('', `${heading}:`);
    for (const [name, spec] of section) {
      lines.push(`  ${usageOf(name, spec).padEnd(width)}  ${spec.doc}${defaultNote(spec, command)}`);
    }
  }
  lines.push(
    '',
    'Every option is also an environment variable (--max-body-bytes: CHAIN_QUERY_MAX_BODY_BYTES)',
  );
  lines.push('and a key of the config file (maxBodyBytes).');
  return `${lines.join('\n')}\n`;
}

/** docs/options.md. */
export function renderOptionsPage(): string {
  const lines = [
    '# Options',
    '',
    'Generated from `src/config/table.ts` by `npm run docs`. Do not edit.',
    '',
    'A flag beats an environment variable, a variable beats the config file, the file beats the default.',
    'The config file is YAML (or JSON), named by `--config`. An unknown flag or key is an error. An empty variable counts as unset.',
    '`chain-query config check` says whether all of it is valid; `chain-query config print` says what each option is and by what, secrets hidden.',
    'What is marked ↻ can change in the file while a node runs: SIGHUP has it read again.',
    'Sizes are bytes, or a number with `KiB`, `MiB`, `GiB` or `TiB`. A flag with … may be given several times; its',
    'variable separates values by commas, its file key may be a list. Switches are `on` or `off`.',
    'The first table has what most people set. Everything below it has a default that is good until a measurement says otherwise.',
  ];
  for (const [heading, rows] of sectionsOf(rowsOf())) {
    lines.push('', `## ${heading}`, '', '| flag | variable | file key | default | commands | meaning |');
    lines.push('|---|---|---|---|---|---|');
    for (const [name, spec] of rows) {
      const fallback = spec.default === undefined ? neededBy(spec) : `\`${spec.default}\``;
      const key = name === 'config' ? '–' : `\`${name}\``;
      const reloaded = spec.isReloaded === true ? ' ↻' : '';
      const cells = [`\`${usageOf(name, spec)}\`${reloaded}`, `\`${variableOf(name)}\``, key, fallback];
      lines.push(`| ${[...cells, spec.commands.join(', '), spec.doc].join(' | ')} |`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** The table of docs/endpoints.md. */
export function renderProfileSettings(): string {
  const lines = ['| setting | without keys | with keys | meaning |', '|---|---|---|---|'];
  for (const [name, { doc }] of Object.entries(PROFILE_SETTINGS)) {
    const defaults = [PROFILE_DEFAULTS.none, PROFILE_DEFAULTS.keys].map(
      (values: Readonly<Record<string, string>>) =>
        values[name] === undefined ? '–' : `\`${values[name]}\``,
    );
    lines.push(`| ${[`\`${name}\``, ...defaults, doc].join(' | ')} |`);
  }
  return lines.join('\n');
}

type Rows = typeof OPTION_ROWS;

/** The common ones first, then the others by what they are about, in the order of the table. */
function sectionsOf(rows: Rows): ReadonlyMap<string, Rows> {
  return Map.groupBy(
    [...rows].sort(([, a], [, b]) => Number(b.isCommon ?? false) - Number(a.isCommon ?? false)),
    ([, spec]) => (spec.isCommon === true ? 'Options' : `Advanced: ${spec.group}`),
  );
}

function usageOf(name: OptionName, spec: OptionSpec): string {
  if (spec.isSwitch === true) return flagOf(name);
  return `${flagOf(name)} ${spec.value}${spec.repeatable === true ? '…' : ''}`;
}

function defaultNote(spec: OptionSpec, command: Command): string {
  if (spec.default !== undefined) return ` [${spec.default}]`;
  return isRequired(spec, command) ? ' [required]' : '';
}

function neededBy({ required }: OptionSpec): string {
  return required === undefined ? '–' : `required by ${required.join(', ')}`;
}
