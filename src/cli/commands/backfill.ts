import type { CommandOptions } from '../../config/table.ts';
import { backfill } from '../../maintenance/backfill/backfill.ts';
import { createLogger } from '../../telemetry/logger.ts';
import type { CommandContext } from '../dispatch.ts';
import { printJson } from '../print.ts';
import { withProgress } from '../progress.ts';

/** `chain-query backfill`: adds verified history below what a store holds. */
export async function run(options: CommandOptions<'backfill'>, context: CommandContext): Promise<void> {
  const { signal, stdout, stderr } = context;
  const logger = createLogger(options.logLevel);
  const { blocks, logs, lowest } = await withProgress(
    { label: 'backfill', unit: 'blocks', stream: stderr },
    (onProgress) => backfill(options, { logger, signal, onProgress }),
  );
  // Stopped half-way is not success, even if it stopped cleanly.
  signal.throwIfAborted();
  if (options.json) printJson(stdout, { blocks, logs, lowest });
  else stdout.write(`backfilled ${blocks} blocks and ${logs} logs, lowest ${lowest.number} ${lowest.hash}\n`);
}
