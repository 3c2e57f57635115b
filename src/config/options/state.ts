import { bytes, count } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';

const SERVE = ['serve'] as const satisfies readonly Command[];

/** The rows of the table that are about state that requests have loaded. */
export const STATE_OPTIONS = {
  requestStateBytes: {
    group: 'State',
    commands: SERVE,
    value: 'SIZE',
    parse: bytes({ min: 2 ** 16, max: 2 ** 32 - 1 }),
    default: '32MiB',
    isReloaded: true,
    doc: 'State and code that one request may have loaded into memory, from the store or from upstreams.',
  },
  stateReadsInFlight: {
    group: 'State',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1_024, max: 1_000_000 }),
    default: '2048',
    doc: 'Accounts and slots that requests of all clients may read from upstreams at the same time. One client gets no more than are left free for the others. More get HTTP 503.',
  },
  historicalViews: {
    group: 'Memory and store',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 100_000 }),
    default: '256',
    doc: 'Blocks whose state can be read without opening them again, per serving thread. What was loaded of them is shared.',
  },
  historicalStateBytes: {
    group: 'Memory and store',
    commands: SERVE,
    value: 'SIZE',
    parse: bytes({ min: 2 ** 24, max: 2 ** 32 - 1 }),
    default: '256MiB',
    doc: 'State of blocks older than the hot window kept in memory, shared by all threads. Calls that find no room get HTTP 503.',
  },
} as const satisfies Record<string, OptionSpec>;
