import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { CommandOptions } from '../../config/table.ts';
import { startNode } from '../../node.ts';
import { createLogger } from '../../telemetry/logger.ts';
import type { CommandContext } from '../dispatch.ts';

/** `chain-query serve`: serves until a signal, then lets running requests finish. */
export async function run(options: CommandOptions<'serve'>, context: CommandContext): Promise<void> {
  const logger = createLogger(options.logLevel);
  const node = await startNode(options, { logger, signal: context.signal });
  try {
    if (options.listenPortFile !== undefined)
      writeWhole(options.listenPortFile, JSON.stringify(node.addresses));
    logger.info(node.addresses, 'serving');
    const end = AbortSignal.any([context.signal, node.failed]);
    if (!end.aborted) await once(end, 'abort');
    logger.info('draining');
    node.failed.throwIfAborted();
  } finally {
    await closeWithin(node.close(), options.shutdownTimeoutMs);
  }
}

/** Whoever waits for the file must never read half of it. */
function writeWhole(file: string, content: string): void {
  const staged = `${file}.tmp-${process.pid}`;
  writeFileSync(staged, `${content}\n`);
  renameSync(staged, file);
}

async function closeWithin(closing: Promise<void>, milliseconds: number): Promise<void> {
  const timer = new AbortController();
  const late = delay(milliseconds, 'late', { signal: timer.signal }).catch(() => undefined);
  const first = await Promise.race([closing, late]);
  timer.abort();
  if (first === 'late') throw new Error(`requests were still running ${milliseconds} ms after the signal`);
}
