/** One command of a page. */
export interface Command {
  readonly kind: 'command';
  readonly line: number;
  readonly text: string;
  /** What it has to print, `…` for anything; undefined where the page does not say. */
  readonly expected: string | undefined;
  /** It runs until it is stopped. */
  readonly stays: boolean;
}

/** A program in TypeScript. */
export interface Program {
  readonly kind: 'program';
  readonly line: number;
  readonly text: string;
}

export type Step = Command | Program;

interface Line {
  readonly number: number;
  readonly text: string;
}

/** Whether a command is whole, or goes on in the next line. */
export type IsWhole = (text: string) => boolean;

/** Commands that run until they are stopped. */
const STAYS = /(?:\bchain-query|\bcli --)\s+(?:serve|ingest|dev)\b|\banvil\b(?!@)/;
const ENDS = /--(?:help|version)\b|\binstall\b|&\s*$/;

/**
 * What a page has its reader run, in order: every command of ```sh blocks, and ```ts blocks whose first line is `// run`. A line that begins
 * with `# ` directly after a command is what that prints. Only the last command of a block can be one that stays up.
 */
export function stepsOf(page: string, isWhole: IsWhole): readonly Step[] {
  return blocksOf(page).flatMap(({ language, lines }): readonly Step[] => {
    if (language === 'sh') return commandsOf(lines, isWhole);
    const [first, ...rest] = lines;
    if (language !== 'ts' || first?.text.trim() !== '// run') return [];
    return [{ kind: 'program', line: first.number, text: rest.map(({ text }) => text).join('\n') }];
  });
}

function blocksOf(page: string): readonly { readonly language: string; readonly lines: readonly Line[] }[] {
  const blocks: { language: string; fence: string; indent: string; lines: Line[] }[] = [];
  let open = false;
  for (const [at, text] of page.split(/\r?\n/).entries()) {
    const last = blocks.at(-1);
    if (open && last !== undefined) {
      const inside = text.startsWith(last.indent) ? text.slice(last.indent.length) : text;
      if (inside.trimEnd() === last.fence) open = false;
      else last.lines.push({ number: at + 1, text: inside });
      continue;
    }
    const [, indent = '', fence, language = ''] = /^(\s*)(`{3,})([\w-]*)/.exec(text) ?? [];
    if (fence === undefined) continue;
    open = true;
    blocks.push({ language, fence, indent, lines: [] });
  }
  const last = blocks.at(-1);
  if (open && last !== undefined) throw new Error('a block of the page has no end');
  return blocks;
}

function commandsOf(lines: readonly Line[], isWhole: IsWhole): readonly Command[] {
  const commands: { line: number; text: string; expected: string | undefined }[] = [];
  /** The command whose lines come, or that lines of output may follow. */
  let current: { line: number; text: string; expected: string | undefined } | undefined;
  let whole = true;
  for (const { number, text } of lines) {
    if (current !== undefined && !whole) {
      current.text += `\n${text}`;
    } else if (current !== undefined && /^#(?: |$)/.test(text)) {
      const printed = text.slice(2);
      current.expected = current.expected === undefined ? printed : `${current.expected}\n${printed}`;
      continue;
    } else if (text.trim() === '' || text.startsWith('#')) {
      current = undefined;
      continue;
    } else {
      current = { line: number, text, expected: undefined };
      commands.push(current);
    }
    whole = !current.text.trimEnd().endsWith('\\') && isWhole(current.text);
  }
  if (!whole) throw new Error(`line ${current?.line}: the command has no end: ${current?.text}`);
  return commands.map((command, at) => ({
    kind: 'command',
    ...command,
    stays: at === commands.length - 1 && STAYS.test(command.text) && !ENDS.test(command.text),
  }));
}

/** Whether what was printed is what a page says, blanks around it aside. */
export function isAsPrinted(expected: string, printed: string): boolean {
  const trimmed = (text: string): string =>
    text
      .trim()
      .split(/\r?\n/)
      .map((line) => line.trimEnd())
      .join('\n');
  const literal = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const pattern = trimmed(expected).split('…').map(literal).join('[^]*');
  return new RegExp(`^${pattern}$`).test(trimmed(printed));
}
