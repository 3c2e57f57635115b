import { styleText } from 'node:util';
import type { CommandOptions } from '../../config/table.ts';
import { examine } from '../../maintenance/doctor/doctor.ts';
import type { Level, Section } from '../../maintenance/doctor/report.ts';
import type { CommandContext } from '../dispatch.ts';

const COLOURS = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

/** `chain-query doctor`: says what stands in the way of following and serving a chain. */
export async function run(options: CommandOptions<'doctor'>, context: CommandContext): Promise<void> {
  const { signal, stdout } = context;
  const sections = await examine(options, { signal });
  signal.throwIfAborted();
  stdout.write(renderSections(sections, stdout.isTTY === true));
  const failed = sections.flatMap(({ findings }) => findings).filter(({ level }) => level === 'fail').length;
  if (failed > 0) throw new Error(failed === 1 ? 'one check failed' : `${failed} checks failed`);
}

/** Plain text, a line a check, in columns. */
export function renderSections(sections: readonly Section[], colours: boolean): string {
  const whats = sections.flatMap(({ findings }) => findings.map(({ what }) => what.length));
  const width = Math.max(0, ...whats);
  const paint = (level: Level): string => {
    const text = level.padEnd(4);
    return colours ? styleText(COLOURS[level], text, { validateStream: false }) : text;
  };
  const blocks = sections.map(({ title, findings }) => {
    const lines = findings.map(({ level, what, detail, fix }) => {
      const advice = fix === undefined ? '' : `  → ${fix}`;
      return `  ${paint(level)}  ${what.padEnd(width)}  ${detail}${advice}`;
    });
    return [title, ...lines].join('\n');
  });
  return `${blocks.join('\n\n')}\n`;
}
