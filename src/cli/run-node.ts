import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { loadOptions } from '../config/load.ts';
import type { CommandOptions } from '../config/table.ts';
import { UsageError } from '../config/usage-error.ts';
import { type Node, type Role, startNode } from '../node/start.ts';
import { createLogger, type Logger } from '../telemetry/logger.ts';
import { logUncaught, logWarnings } from '../telemetry/process-log.ts';
import { showBanner } from './banner.ts';
import { type CommandContext, isCausedBy } from './dispatch.ts';
import { describeError, LoggedError } from './failure.ts';
import { hintsFor } from './hints.ts';
import { writeWhole } from './whole-file.ts';

/** Runs a node until a signal, then lets running requests finish. */
export async function runNode(
  role: Role,
  options: CommandOptions<'serve'>,
  context: CommandContext,
): Promise<void> {
  const logger = createLogger(options.logLevel);
  logWarnings(logger);
  logUncaught(logger);
  try {
    await serve(role, options, { ...context, logger });
  } catch (error) {
    if (context.signal.aborted && isCausedBy(error, context.signal.reason)) {
      // An ingester may have waited for days for its turn: that it is told to end is no failure.
      logger.info('stopped before there was anything to drain');
      return;
    }
    // For a person one line of text, as with every command; for whatever reads the log, one more line of it.
    const isRead = context.stderr.isTTY !== true && logger.isLevelEnabled('fatal');
    if (error instanceof UsageError || error instanceof LoggedError || !isRead) throw error;
    const hints = hintsFor(error, role);
    logger.fatal({ err: error, ...(hints.length > 0 && { hints }) }, describeError(error));
    throw new LoggedError(`${role} failed`, { cause: error });
  }
}

async function serve(
  role: Role,
  options: CommandOptions<'serve'>,
  { logger, ...context }: CommandContext & { readonly logger: Logger },
): Promise<void> {
  using reloading = reloadOnDemand(context, logger);
  const node = await startNode(options, { role, logger, signal: context.signal });
  try {
    if (options.listenPortFile !== undefined)
      writeWhole(options.listenPortFile, `${JSON.stringify(node.addresses)}\n`);
    logger.info(node.addresses, role === 'ingest' ? 'ingesting' : 'serving');
    await showBanner(role, node, options, context);
    reloading.begin(node);
    const end = AbortSignal.any([context.signal, node.failed]);
    if (!end.aborted) await once(end, 'abort');
    logger.info('draining');
    node.drain();
    // Whoever asks for readiness now and then has heard of it when the port closes. Nobody is served by an ingester.
    if (role === 'serve') await delayUnless(node.failed, options.drainDelayMs);
    if (node.failed.aborted && logger.isLevelEnabled('fatal')) throw new LoggedError('the node cannot go on');
    node.failed.throwIfAborted();
  } finally {
    await closeWithin(node.close(), options.shutdownTimeoutMs);
  }
}

interface Reloading extends Disposable {
  begin(node: Node): void;
}

/**
 * Reads the options again when that is wished, and once there is a node if it was wished before: an ingester may wait for
 * days for its turn. What cannot be understood changes nothing.
 */
function reloadOnDemand({ sources, reloads }: CommandContext, logger: Logger): Reloading {
  let running: Node | undefined;
  let isWished = false;
  const onReload = (): void => {
    isWished = true;
    if (running === undefined) return;
    try {
      running.reload(loadOptions('serve', sources));
    } catch (error) {
      logger.error({ err: error }, 'options cannot be read again: the old ones are valid on');
    }
  };
  reloads.addEventListener('reload', onReload);
  return {
    begin(node) {
      running = node;
      if (isWished) onReload();
    },
    [Symbol.dispose]: () => reloads.removeEventListener('reload', onReload),
  };
}

/** Waits so long, or until that happens. */
async function delayUnless(event: AbortSignal, milliseconds: number): Promise<void> {
  await delay(milliseconds, undefined, { signal: event }).catch(() => undefined);
}

async function closeWithin(closing: Promise<void>, milliseconds: number): Promise<void> {
  const timer = new AbortController();
  const late = delay(milliseconds, 'late', { signal: timer.signal }).catch(() => undefined);
  const first = await Promise.race([closing, late]);
  timer.abort();
  if (first === 'late') throw new Error(`requests were still running ${milliseconds} ms after the signal`);
}
