import type { CommandModel, FlagModel } from './model.ts';

/** A script for bash: `source <(chain-query completion bash)`. */
export function bashCompletion(commands: readonly CommandModel[]): string {
  const names = commands.map(({ command }) => command).join(' ');
  const cases = commands.map(
    ({ command, verbs, flags }) =>
      `    ${command}) verbs='${verbs.join(' ')}'; flags='${flags.map(({ flag }) => flag).join(' ')} --all' ;;`,
  );
  return `# bash completion of chain-query. Made by: chain-query completion bash
_chain_query() {
  local cur prev command verbs='' flags=''
  cur="\${COMP_WORDS[COMP_CWORD]}"
  prev="\${COMP_WORDS[COMP_CWORD - 1]}"
  # bash takes --flag=value for three words.
  if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev="\${COMP_WORDS[COMP_CWORD - 2]}"; fi
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '${names} help --help --version' -- "$cur")
    return
  fi
  command="\${COMP_WORDS[1]}"
  case $command in
${cases.join('\n')}
    help) verbs='${names}' ;;
    *) return ;;
  esac
  if ((COMP_CWORD == 2)) && [[ -n $verbs && $cur != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$cur")
    return
  fi
  case $prev in
${valueCases(commands).join('\n')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$cur")
}
complete -F _chain_query chain-query
`;
}

/** What stands behind each flag; a flag is the same for every command. */
function valueCases(commands: readonly CommandModel[]): readonly string[] {
  const flags = new Map(commands.flatMap((command) => command.flags.map((flag) => [flag.flag, flag])));
  const valued = [...flags.values()].filter(({ takesValue }) => takesValue);
  const groups = Map.groupBy(valued, generatorOf);
  return [...groups].map(([generator, group]) => {
    const pattern = group.map(({ flag }) => flag).join(' | ');
    if (generator === '') return `    ${pattern}) return ;;`;
    const names = generator.includes(' -f') || generator.includes(' -d') ? '; compopt -o filenames' : '';
    return `    ${pattern}) mapfile -t COMPREPLY < <(${generator})${names}; return ;;`;
  });
}

function generatorOf({ words, paths }: FlagModel): string {
  if (words.length === 0 && paths === 'none') return '';
  const flag = { files: ' -f', folders: ' -d', none: '' }[paths];
  return `compgen${flag}${words.length > 0 ? ` -W '${words.join(' ')}'` : ''} -- "$cur"`;
}
