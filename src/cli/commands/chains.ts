import type { CommandOptions } from '../../config/table.ts';
import { CHAINS } from '../../rules/chains.ts';
import { CHAIN_HEADINGS, chainCells } from '../../rules/describe.ts';
import type { CommandContext } from '../dispatch.ts';
import { printJson } from '../print.ts';

/** `chain-query chains`: prints the chains that are known by name. */
export async function run({ json }: CommandOptions<'chains'>, { stdout }: CommandContext): Promise<void> {
  if (json) return printJson(stdout, { chains: asData() });
  const rows = [CHAIN_HEADINGS, ...chainCells()];
  const widths = CHAIN_HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  stdout.write(`${lines.join('\n')}\n`);
}

function asData(): readonly object[] {
  const cells = chainCells();
  return CHAINS.map(({ name, config, newestFork, blockTimeMs, preconfirmations }, index) => ({
    ...{ name, chainId: config.chainId, newestFork, blockTimeMs, preconfirmations },
    notExecuted: cells[index]?.at(-1),
  }));
}
