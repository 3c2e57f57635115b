import type { CommandOptions } from '../../config/table.ts';
import { UsageError } from '../../config/usage-error.ts';
import { FULL_BLOCK_TRANSACTIONS } from '../../maintenance/plan/figures.ts';
import { type Demand, planCapacity } from '../../maintenance/plan/formulas.ts';
import { renderPlan } from '../../maintenance/plan/render.ts';
import { CHAINS } from '../../rules/chains.ts';
import type { CommandContext } from '../dispatch.ts';
import { printJson } from '../print.ts';

/** `chain-query plan`: what disk, memory and machines a fleet takes. */
export async function run(options: CommandOptions<'plan'>, { stdout }: CommandContext): Promise<void> {
  const row = CHAINS.find(({ name }) => name === options.chain);
  if (row === undefined)
    throw new UsageError(`--chain needs the name of a chain: ${CHAINS.map(({ name }) => name).join(', ')}`, {
      hints: ['chain-query chains prints more of each'],
    });
  const { blockTimeMs } = row;
  const { retention: retentionMs, rps, callsShare, replicaCores } = options;
  const { hotStateEntries, codeCacheBytes, renderCacheBytes } = options;
  const demand: Demand = {
    ...{ blockTimeMs, retentionMs, rps, callsShare, replicaCores },
    ...{ hotStateEntries, codeCacheBytes, renderCacheBytes },
    tps: options.tps ?? (FULL_BLOCK_TRANSACTIONS * 1_000) / blockTimeMs,
  };
  const plan = planCapacity(demand);
  if (options.json) printJson(stdout, { chain: row.name, demand, plan });
  else stdout.write(renderPlan(row.name, demand, plan));
}
