import type { Logger } from './logger.ts';

/** Has the warnings of Node in this thread logged like everything else, instead of printed. */
export function logWarnings(logger: Logger): void {
  process.removeAllListeners('warning');
  process.on('warning', (err) => logger.warn({ err }, 'a warning of Node'));
}

/** Has what nobody caught logged, and ends the process: what it was in the middle of is unknown. */
export function logUncaught(logger: Logger): void {
  process.on('uncaughtException', (err, origin) => {
    logger.fatal({ err, origin }, 'nobody caught this: the process ends');
    process.exit(1);
  });
}
