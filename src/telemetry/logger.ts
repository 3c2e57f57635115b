import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import { errorFields } from './log/error-fields.ts';
import { stderrLog } from './log/log-destination.ts';
import { isLogRead, terminalLine } from './log/terminal-log.ts';
import { REDACTED_PATHS, redactUrls } from './redact.ts';

export type { Logger } from 'pino';

/** Severity from which lines are written. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** Makes the process's logger: JSON lines on stderr, because stdout belongs to a command's result; on a terminal, lines for a person. */
export function createLogger(level: LogLevel, destination: DestinationStream = stderrLog): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: [...REDACTED_PATHS], censor: '***' },
    formatters: { level: (label) => ({ level: label }) },
    hooks: {
      // Messages, URLs in fields and stack traces alike: the line is the only place that sees them all.
      streamWrite:
        isLogRead && destination === stderrLog ? (line) => terminalLine(redactUrls(line)) : redactUrls,
    },
    serializers: { err: (error: unknown) => errorFields(error) },
  };
  return pino(options, destination);
}
