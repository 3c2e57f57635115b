import type { CommandOptions } from '../../config/table.ts';
import { UsageError } from '../../config/usage-error.ts';
import type { CommandContext } from '../dispatch.ts';
import { runNode } from '../run-node.ts';

/** `chain-query serve`: serves a store, or a replica of one. */
export async function run(options: CommandOptions<'serve'>, context: CommandContext): Promise<void> {
  if (options.data === undefined && options.store === undefined)
    throw new UsageError('--data DIR is missing (or set CHAIN_QUERY_DATA), or --store of a fleet');
  await runNode('serve', options, context);
}
