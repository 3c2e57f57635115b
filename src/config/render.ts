import { flagOf, rowsOf, variableOf } from './rows.ts';
import { COMMANDS, type Command, isRequired, type OptionSpec } from './spec.ts';
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
  const rows = rowsOf(command).map(([name, spec]) => ({ usage: usageOf(name, spec), spec }));
  const width = Math.max(...rows.map(({ usage }) => usage.length));
  const lines = [`Usage: chain-query ${command} [options]`, '', `${COMMANDS[command]}.`];
  let group = '';
  for (const { usage, spec } of rows) {
    if (spec.group !== group) lines.push('', `${spec.group}:`);
    group = spec.group;
    lines.push(`  ${usage.padEnd(width)}  ${spec.doc}${defaultNote(spec, command)}`);
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
    'The config file is JSON, named by `--config`. An unknown flag or key is an error. An empty variable counts as unset.',
    'Sizes are bytes, or a number with `KiB`, `MiB`, `GiB` or `TiB`. A flag with … may be given several times; its',
    'variable separates values by commas, its file key may be a list. Switches are `on` or `off`.',
  ];
  let group = '';
  for (const [name, spec] of rowsOf()) {
    if (spec.group !== group) {
      lines.push('', `## ${spec.group}`, '', '| flag | variable | file key | default | commands | meaning |');
      lines.push('|---|---|---|---|---|---|');
    }
    group = spec.group;
    const fallback = spec.default === undefined ? neededBy(spec) : `\`${spec.default}\``;
    const key = name === 'config' ? '–' : `\`${name}\``;
    const cells = [`\`${usageOf(name, spec)}\``, `\`${variableOf(name)}\``, key, fallback];
    lines.push(`| ${[...cells, spec.commands.join(', '), spec.doc].join(' | ')} |`);
  }
  return `${lines.join('\n')}\n`;
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
  if (required === undefined) return '–';
  return required === true ? 'required' : `required by ${required.join(', ')}`;
}
