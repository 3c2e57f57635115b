import type { CommandOptions } from '../../config/table.ts';
import { UsageError } from '../../config/usage-error.ts';
import type { CommandContext } from '../dispatch.ts';
import { runNode } from '../run-node.ts';

const HINTS = ['run: chain-query ingest --store cql://HOST/KEYSPACE --upstream https://HOST'];

/** `chain-query ingest`: follows a chain into a store in CQL; waits while another does. */
export async function run(options: CommandOptions<'ingest'>, context: CommandContext): Promise<void> {
  if (options.store === undefined)
    throw new UsageError('--store cql://… is missing: where to write', { hints: HINTS });
  if (options.upstream === undefined)
    throw new UsageError('--upstream URL is missing: whom to follow', { hints: HINTS });
  await runNode('ingest', options, context);
}
