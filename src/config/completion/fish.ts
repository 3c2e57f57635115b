import type { CommandModel, FlagModel } from './model.ts';

/** A script for fish: chain-query completion fish | source. */
export function fishCompletion(commands: readonly CommandModel[]): string {
  const lines = ['# fish completion of chain-query. Made by: chain-query completion fish'];
  lines.push('complete -c chain-query -f');
  for (const { command, verbs, flags, doc } of commands) {
    lines.push(`complete -c chain-query -n __fish_use_subcommand -a ${command} -d ${quoted(doc)}`);
    const seen = `-n ${quoted(`__fish_seen_subcommand_from ${command}`)}`;
    if (verbs.length > 0) {
      const none = `__fish_seen_subcommand_from ${command}; and not __fish_seen_subcommand_from ${verbs.join(' ')}`;
      lines.push(`complete -c chain-query -n ${quoted(none)} -a ${quoted(verbs.join(' '))}`);
    }
    for (const flag of flags) lines.push(`complete -c chain-query ${seen} ${optionOf(flag)}`);
  }
  return `${lines.join('\n')}\n`;
}

function optionOf({ flag, doc, takesValue, words, paths }: FlagModel): string {
  const parts = [`-l ${flag.slice(2)}`, `-d ${quoted(doc)}`];
  // -x has no files beside the words, -r has.
  if (takesValue) parts.push(paths === 'none' ? '-x' : '-r');
  if (paths === 'files') parts.push('-F');
  const folders = paths === 'folders' ? ['(__fish_complete_directories)'] : [];
  const choices = [...words, ...folders];
  if (choices.length > 0) parts.push(`-a ${quoted(choices.join(' '))}`);
  return parts.join(' ');
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, (letter) => `\\${letter}`)}'`;
}
