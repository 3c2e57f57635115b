import { PROFILE_DEFAULTS, PROFILE_SETTINGS } from './profiles.ts';
import { type OPTION_ROWS, rowsOf, usageOf, variableOf } from './rows.ts';
import type { OptionSpec } from './spec.ts';

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
    [...rows].sort(([, a], [, b]) => Number(b.brief !== undefined) - Number(a.brief !== undefined)),
    ([, spec]) => (spec.brief !== undefined ? 'Options' : `Advanced: ${spec.group}`),
  );
}

function neededBy({ required }: OptionSpec): string {
  return required === undefined ? '–' : `required by ${required.join(', ')}`;
}
