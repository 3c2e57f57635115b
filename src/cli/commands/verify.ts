import type { CommandOptions } from '../../config/table.ts';
import { verifyStore } from '../../maintenance/verify/verify.ts';
import { createLogger } from '../../telemetry/logger.ts';
import type { CommandContext } from '../dispatch.ts';
import { withProgress } from '../progress.ts';

/** `chain-query verify`: re-checks what a store holds and fails on the first thing that is wrong. */
export async function run(options: CommandOptions<'verify'>, context: CommandContext): Promise<void> {
  const { signal, stdout, stderr } = context;
  const logger = createLogger(options.logLevel);
  const { verified, head, rootChecked } = await withProgress(
    { label: 'verify', unit: 'blocks', stream: stderr },
    (onProgress) => verifyStore(options, { logger, signal, onProgress }),
  );
  // Stopped half-way is not success, even if it stopped cleanly.
  signal.throwIfAborted();
  stdout.write(`verified ${verified} blocks, head ${head.number} ${head.hash}\n`);
  if (!rootChecked) stdout.write('state root not checked: the copy is partial\n');
}
