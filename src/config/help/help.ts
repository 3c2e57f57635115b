import { flagOf, type OPTION_ROWS, rowsOf, usageOf } from '../rows.ts';
import {
  COMMAND_GROUPS,
  COMMANDS,
  type Command,
  EXAMPLES,
  isRequired,
  type OptionSpec,
  VERBS,
} from '../spec.ts';

type Rows = typeof OPTION_ROWS;

/** What a terminal is at least. */
const COLUMNS = 80;

/** Under which heading of a help screen the options of a group stand; those that are not here keep their own. */
const HEADINGS: Partial<Readonly<Record<OptionSpec['group'], string>>> = {
  'Following a chain': 'Chain',
  'Pre-confirmations': 'Chain',
  Backfilling: 'Chain',
  Snapshots: 'Chain',
  Listeners: 'Endpoints',
  Keys: 'Endpoints',
  Sending: 'Endpoints',
};

/** The help of the program, on one screen. */
export function renderHelp(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((command) => command.length));
  const groups = Object.entries(COMMAND_GROUPS).flatMap(([group, commands]) => [
    `${group}:`,
    ...commands.map((command) => `  ${command.padEnd(width)}  ${COMMANDS[command]}`),
  ]);
  return `${[
    'Usage: chain-query <command> [options]',
    '',
    ...groups,
    '',
    'Examples:',
    `  chain-query ${EXAMPLES.dev}`,
    `  chain-query ${EXAMPLES.serve}`,
    '',
    'chain-query <command> --help has its common options; --help --all has all.',
    'chain-query --version prints the version. Docs: README.md, docs/cli.md.',
  ].join('\n')}\n`;
}

/** The help of a command, on one screen: the options that most people set. */
export function renderCommandHelp(command: Command): string {
  // `config` takes the options of all commands: a screen has those of every command alone.
  const rows = rowsOf(command).filter(
    ([, spec]) => spec.brief !== undefined && (command !== 'config' || spec.group === 'General'),
  );
  const width = Math.max(0, ...rows.map(([name, spec]) => usageOf(name, spec).length));
  const lines = headOf(command);
  for (const [heading, section] of byHeading(rows)) {
    lines.push(`${heading}:`);
    for (const [name, spec] of section) {
      lines.push(`  ${usageOf(name, spec).padEnd(width)}  ${spec.brief}${defaultNote(spec, command)}`);
    }
  }
  const others = rowsOf(command).length - rows.length;
  if (others > 0) lines.push(`${others} more with --help --all. All are variables and keys of a file, too.`);
  return `${lines.join('\n')}\n`;
}

/** Every option of a command, or of all of them, with all that is said of it. */
export function renderAllOptions(command?: Command): string {
  const lines = command === undefined ? ['Usage: chain-query <command> [options]', ''] : headOf(command);
  for (const [group, rows] of Map.groupBy(rowsOf(command), ([, spec]) => spec.group)) {
    lines.push(`${group}:`);
    for (const [name, spec] of rows) {
      const of = command === undefined ? ` (${spec.commands.join(', ')})` : '';
      lines.push(`  ${usageOf(name, spec)}${defaultNote(spec, command)}`);
      lines.push(...wrap(`${spec.doc}${of}`, COLUMNS - 6).map((line) => `      ${line}`));
    }
    lines.push('');
  }
  lines.push('Every option is also an environment variable (--max-body-bytes:');
  lines.push('CHAIN_QUERY_MAX_BODY_BYTES) and a key of the config file (maxBodyBytes).');
  return `${lines.join('\n')}\n`;
}

/** The command that lacks an option, with it. */
export function commandWith(command: Command, name: Rows[number][0], spec: OptionSpec): string {
  const example = EXAMPLES[command];
  return example.includes(`${flagOf(name)} `)
    ? `chain-query ${example}`
    : `chain-query ${example} ${usageOf(name, spec).replace('…', '')}`;
}

/** Lines of at most so many characters; a word that is longer has a line of its own. */
export function wrap(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= columns)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function headOf(command: Command): string[] {
  const verbs = VERBS[command] === undefined ? '' : ` ${VERBS[command].join('|')}`;
  const options = rowsOf(command).length > 0 && command !== 'completion' ? ' [options]' : '';
  return [
    `Usage: chain-query ${command}${verbs}${options}`,
    '',
    `${COMMANDS[command]}.`,
    `Example: chain-query ${EXAMPLES[command]}`,
    '',
  ];
}

/** What is general comes last: it is the same everywhere. */
function byHeading(rows: Rows): readonly (readonly [string, Rows])[] {
  const sections = Map.groupBy(rows, ([, { group }]) => HEADINGS[group] ?? group);
  return [...sections].sort(([a], [b]) => Number(a === 'General') - Number(b === 'General'));
}

function defaultNote(spec: OptionSpec, command: Command | undefined): string {
  if (spec.isSwitch === true && spec.default === 'off') return '';
  if (spec.default !== undefined) return ` [${spec.default}]`;
  return command !== undefined && isRequired(spec, command) ? ' [required]' : '';
}
