import { wrap } from '../../config/help/help.ts';
import type { CommandOptions } from '../../config/table.ts';
import { examine } from '../../maintenance/doctor/doctor.ts';
import type { Finding, Section } from '../../maintenance/doctor/report.ts';
import type { CommandContext } from '../dispatch.ts';
import { FaultsFoundError, printable } from '../failure.ts';
import { type Paint, painter, printJson } from '../print.ts';

const COLOURS = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

/** `chain-query doctor`: says what stands in the way of following and serving a chain. */
export async function run(options: CommandOptions<'doctor'>, context: CommandContext): Promise<void> {
  const { signal, stdout, sources } = context;
  const sections = await examine(options, { signal });
  signal.throwIfAborted();
  const { verdict, summary } = judge(sections);
  if (options.json) {
    printJson(stdout, { verdict, summary, sections });
  } else {
    const paint = painter(stdout, sources.env);
    // Elsewhere a check stays one line, for grep.
    const columns = stdout.isTTY === true ? stdout.columns || 80 : undefined;
    stdout.write(renderSections(sections, { paint, columns }));
    stdout.write(
      `\n${paint({ ready: 'green', works: 'yellow', fails: 'red' }[verdict] as 'red', summary)}\n`,
    );
  }
  if (verdict === 'fails') throw new FaultsFoundError(summary);
}

interface Verdict {
  readonly verdict: 'ready' | 'works' | 'fails';
  readonly summary: string;
}

/** What all findings come to, in a line. */
export function judge(sections: readonly Section[]): Verdict {
  const at = (level: Finding['level']): readonly string[] =>
    sections.flatMap(({ title, findings }) =>
      findings.filter((finding) => finding.level === level).map(({ what }) => `${what} (${title})`),
    );
  const [failed, warned] = [at('fail'), at('warn')];
  if (failed.length > 0)
    return { verdict: 'fails', summary: printable(`will not work: ${failed.join(', ')}`) };
  if (warned.length > 0)
    return { verdict: 'works', summary: printable(`works, but look at: ${warned.join(', ')}`) };
  return { verdict: 'ready', summary: 'ready' };
}

interface Look {
  readonly paint: Paint;
  /** Of a terminal: what is longer is wrapped, and what to fix has lines of its own. */
  readonly columns: number | undefined;
}

/** A line a check, in columns. */
export function renderSections(sections: readonly Section[], { paint, columns }: Look): string {
  const whats = sections.flatMap(({ findings }) => findings.map(({ what }) => what.length));
  const width = Math.max(0, ...whats);
  const line = ({ level, what, detail, fix }: Finding): readonly string[] => {
    const head = `  ${paint(COLOURS[level], level.padEnd(4))}  ${what.padEnd(width)}  `;
    const [said, advice] = [printable(detail), fix === undefined ? undefined : `→ ${printable(fix)}`];
    if (columns === undefined) return [`${head}${said}${advice === undefined ? '' : `  ${advice}`}`];
    const indent = width + 10;
    const room = Math.max(20, columns - indent - 1);
    const lines = [...wrap(said, room), ...(advice === undefined ? [] : wrap(advice, room))];
    return lines.map((text, index) => (index === 0 ? `${head}${text}` : `${' '.repeat(indent)}${text}`));
  };
  const blocks = sections.map(({ title, findings }) =>
    [paint('bold', printable(title)), ...findings.flatMap(line)].join('\n'),
  );
  return `${blocks.join('\n\n')}\n`;
}
