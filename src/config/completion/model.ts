import { CHAINS } from '../../rules/chains.ts';
import { flagOf, rowsOf } from '../rows.ts';
import { COMMANDS, type Command, type OptionSpec, VERBS } from '../spec.ts';

/** What a shell can complete behind a flag. */
export interface FlagModel {
  readonly flag: string;
  readonly doc: string;
  readonly takesValue: boolean;
  readonly isRepeatable: boolean;
  /** Words that it takes. */
  readonly words: readonly string[];
  readonly paths: 'files' | 'folders' | 'none';
}

export interface CommandModel {
  readonly command: Command;
  readonly doc: string;
  readonly verbs: readonly string[];
  readonly flags: readonly FlagModel[];
}

/** All that can be completed, from the tables of commands and options. */
export function completionModel(): readonly CommandModel[] {
  return (Object.keys(COMMANDS) as Command[]).map((command) => ({
    command,
    doc: COMMANDS[command],
    verbs: VERBS[command] ?? [],
    flags: [
      ...rowsOf(command).map(([name, spec]) => flagModel(flagOf(name), spec)),
      flagModel('--help', { isSwitch: true, doc: 'Common options; with --all, every option.', value: '' }),
    ],
  }));
}

function flagModel(
  flag: string,
  spec: Pick<OptionSpec, 'doc' | 'value' | 'repeatable' | 'isSwitch' | 'brief'> &
    Partial<Pick<OptionSpec, 'parse'>>,
): FlagModel {
  const chains = flag === '--chain' ? CHAINS.map(({ name }) => name) : [];
  const doc = spec.brief ?? spec.doc.replace(/(?<=[.:;]) .*/s, '').replace(/[.:;]$/, '');
  return {
    ...{ flag, doc, takesValue: spec.isSwitch !== true, isRepeatable: spec.repeatable === true },
    words: spec.isSwitch === true ? [] : [...chains, ...(spec.parse?.words ?? [])],
    paths: spec.value === 'DIR' ? 'folders' : spec.value.includes('FILE') ? 'files' : 'none',
  };
}
