import { CHAIN_HEADINGS, chainCells } from '../../rules/describe.ts';
import type { CommandContext } from '../dispatch.ts';

/** `chain-query chains`: prints the chains that are known by name. */
export async function run(_options: unknown, { stdout }: CommandContext): Promise<void> {
  const rows = [CHAIN_HEADINGS, ...chainCells()];
  const widths = CHAIN_HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows) {
    stdout.write(
      `${row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    );
  }
}
