import { accessSync, constants, statSync } from 'node:fs';
import type { CommandOptions } from '../../config/table.ts';
import { UsageError } from '../../config/usage-error.ts';
import { importChain } from '../../maintenance/import/import.ts';
import { createLogger } from '../../telemetry/logger.ts';
import type { CommandContext } from '../dispatch.ts';
import { printJson } from '../print.ts';
import { withProgress } from '../progress.ts';

/** `chain-query import`: executes and verifies blocks into a store, from where the store stands. */
export async function run(options: CommandOptions<'import'>, context: CommandContext): Promise<void> {
  const { signal, stdout, stderr } = context;
  expectFile('--genesis', options.genesis);
  expectFile('--blocks', options.blocks);
  const logger = createLogger(options.logLevel);
  const { imported, head } = await withProgress(
    { label: 'import', unit: 'blocks', stream: stderr },
    (onProgress) => importChain(options, { logger, signal, onProgress }),
  );
  // Stopped half-way is not success, even if it stopped cleanly.
  signal.throwIfAborted();
  if (options.json) printJson(stdout, { imported, head });
  else stdout.write(`imported ${imported} blocks, head ${head.number} ${head.hash}\n`);
}

/** Said before anything is made: a folder with half a store would be in the way. */
function expectFile(flag: string, path: string): void {
  const hints = [`check the path: ${flag} FILE, from the folder that you are in`];
  try {
    accessSync(path, constants.R_OK);
    if (statSync(path).isDirectory()) throw new UsageError(`${flag}: ${path} is a folder`, { hints });
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new UsageError(`${flag}: ${path} ${why}`, { hints });
  }
}
