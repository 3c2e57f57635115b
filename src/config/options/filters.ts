import { bytes, count } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';

const SERVE = ['serve'] as const satisfies readonly Command[];

/** The rows of the table that are about filters. */
export const FILTER_OPTIONS = {
  filters: {
    group: 'Filters',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 1_000_000 }),
    default: '10000',
    doc: 'Filters (`eth_newFilter` and others) of all clients.',
  },
  filtersPerClient: {
    group: 'Filters',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 1_000_000 }),
    default: '1000',
    doc: 'Filters of one client: a remote address, or one WebSocket connection.',
  },
  filterTimeoutMs: {
    group: 'Filters',
    commands: SERVE,
    value: 'MS',
    parse: count({ min: 1, max: 86_400_000 }),
    default: '300000',
    doc: 'How long a filter lives that nobody asks for.',
  },
  filterBytes: {
    group: 'Filters',
    commands: SERVE,
    value: 'SIZE',
    parse: bytes({ min: 2 ** 16, max: 2 ** 36 }),
    default: '64MiB',
    doc: 'What all filters hold: a quarter for their criteria (of one client a quarter of that), the rest for changes that they were not asked for yet. A filter whose changes are not held any more is an error.',
  },
} as const satisfies Record<string, OptionSpec>;
