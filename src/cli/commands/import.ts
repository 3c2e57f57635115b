import type { CommandOptions } from '../../config/table.ts';
import { importChain } from '../../maintenance/import/import.ts';
import { createLogger } from '../../telemetry/logger.ts';
import type { CommandContext } from '../dispatch.ts';
import { withProgress } from '../progress.ts';

/** `chain-query import`: executes and verifies blocks into a store, from where the store stands. */
export async function run(options: CommandOptions<'import'>, context: CommandContext): Promise<void> {
  const { signal, stdout, stderr } = context;
  const logger = createLogger(options.logLevel);
  const { imported, head } = await withProgress(
    { label: 'import', unit: 'blocks', stream: stderr },
    (onProgress) => importChain(options, { logger, signal, onProgress }),
  );
  // Stopped half-way is not success, even if it stopped cleanly.
  signal.throwIfAborted();
  stdout.write(`imported ${imported} blocks, head ${head.number} ${head.hash}\n`);
}
