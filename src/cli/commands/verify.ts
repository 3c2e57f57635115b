import type { CommandOptions } from '../../config/table.ts';
import { VerificationError } from '../../maintenance/verify/block.ts';
import { type Verified, verifyStore } from '../../maintenance/verify/verify.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { redactUrls } from '../../telemetry/redact.ts';
import type { CommandContext } from '../dispatch.ts';
import { describeError, FaultsFoundError } from '../failure.ts';
import { printJson } from '../print.ts';
import { withProgress } from '../progress.ts';

/** `chain-query verify`: re-checks what a store holds and fails on the first thing that is wrong. */
export async function run(options: CommandOptions<'verify'>, context: CommandContext): Promise<void> {
  const { signal, stdout } = context;
  const { verified, head, rootChecked } = await verify(options, context);
  // Stopped half-way is not success, even if it stopped cleanly.
  signal.throwIfAborted();
  if (options.json) {
    printJson(stdout, { verdict: 'sound', blocks: verified, head, stateRootChecked: rootChecked });
    return;
  }
  stdout.write(`verified ${verified} blocks, head ${head.number} ${head.hash}\n`);
  if (!rootChecked) stdout.write('state root not checked: the copy is partial\n');
}

/** Says what is damaged, which is a result, and no failure to find one. */
async function verify(
  options: CommandOptions<'verify'>,
  { signal, stdout, stderr }: CommandContext,
): Promise<Verified> {
  const logger = createLogger(options.logLevel);
  try {
    return await withProgress({ label: 'verify', unit: 'blocks', stream: stderr }, (onProgress) =>
      verifyStore(options, { logger, signal, onProgress }),
    );
  } catch (error) {
    if (!(error instanceof VerificationError) || signal.aborted) throw error;
    const said = redactUrls(describeError(error));
    if (options.json) printJson(stdout, { verdict: 'damaged', error: said });
    else {
      stderr.write(`chain-query: ${said}\n`);
      stderr.write('  → bring back a copy: chain-query snapshot restore --snapshot FOLDER --data NEW\n');
      stderr.write('  → or move the folder away and follow or import the chain again\n');
    }
    throw new FaultsFoundError('the store is damaged', { cause: error });
  }
}
