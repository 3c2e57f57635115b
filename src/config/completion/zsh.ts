import type { CommandModel, FlagModel } from './model.ts';

/** A script for zsh, as a file _chain-query in a folder of its fpath, or sourced. */
export function zshCompletion(commands: readonly CommandModel[]): string {
  const described = commands.map(({ command, doc }) => `    ${quoted(`${command}:${doc}`)}`);
  const cases = commands.map(({ command, verbs, flags }) => {
    const verb = verbs.length === 0 ? [] : [quoted(`1:verb:(${verbs.join(' ')})`)];
    return `    ${command})\n      _arguments ${[...verb, ...flags.map(argumentOf)].join(' \\\n        ')}\n      ;;`;
  });
  return `#compdef chain-query
# zsh completion of chain-query. Made by: chain-query completion zsh
${mixedOf(commands).join('\n')}
_chain_query() {
  local -a known
  known=(
${described.join('\n')}
  )
  if ((CURRENT == 2)); then
    _describe -t commands command known
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
${cases.join('\n')}
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _chain_query "$@"; else compdef _chain_query chain-query; fi
`;
}

function argumentOf({ flag, doc, takesValue, isRepeatable, words, paths }: FlagModel): string {
  const text = doc.replace(/[[\]:\\]/g, (letter) => `\\${letter}`);
  const many = isRepeatable ? '*' : '';
  if (!takesValue) return quoted(`${many}${flag}[${text}]`);
  const files = { files: '_files', folders: '_files -/', none: ' ' }[paths];
  const action = words.length === 0 ? files : paths === 'none' ? `(${words.join(' ')})` : functionOf(flag);
  return quoted(`${many}${flag}=[${text}]:value:${action}`);
}

/** Words and files together need a function of their own. */
function mixedOf(commands: readonly CommandModel[]): readonly string[] {
  const flags = new Map(commands.flatMap((command) => command.flags.map((flag) => [flag.flag, flag])));
  return [...flags.values()]
    .filter(({ words, paths }) => words.length > 0 && paths !== 'none')
    .map(
      ({ flag, words }) =>
        `${functionOf(flag)}() { _alternative ${quoted(`names:name:(${words.join(' ')})`)} 'files:file:_files' }`,
    );
}

function functionOf(flag: string): string {
  return `_chain_query${flag.slice(1).replaceAll('-', '_')}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
