import { count, httpUrl, share } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';

const SERVE = ['serve'] as const satisfies readonly Command[];

/** What a node tells of itself beside its metrics. */
export const OBSERVING_OPTIONS = {
  slowRequestMs: {
    group: 'Observing',
    commands: SERVE,
    value: 'MS',
    parse: count({ min: 0, max: 3_600_000 }),
    default: '2000',
    doc: 'A call that takes longer gets a line in the log, at most 10 a second, without its params. 0 is never.',
  },
  otlp: {
    group: 'Observing',
    commands: SERVE,
    value: 'URL',
    parse: httpUrl,
    isSecret: true,
    doc: 'Collector that traces are posted to (OpenTelemetry, OTLP over HTTP), such as http://127.0.0.1:4318/v1/traces. Left out, nothing is traced.',
  },
  traceRatio: {
    group: 'Observing',
    commands: SERVE,
    value: 'SHARE',
    parse: share,
    default: '0.01',
    doc: 'Share of requests that are traced, from 0 to 1. On endpoints with keys, a client that sends `traceparent` decides for its own.',
  },
} as const satisfies Record<string, OptionSpec>;
