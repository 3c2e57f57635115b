import { bytes, count } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';

const SERVE = ['serve'] as const satisfies readonly Command[];
const MILLISECONDS = { min: 1, max: 3_600_000 };
const MANY = { min: 1, max: 10_000_000 };

/** The rows of the table that are about WebSocket connections and subscriptions. */
export const WEBSOCKET_OPTIONS = {
  wsSubscriptions: {
    group: 'WebSocket',
    commands: SERVE,
    value: 'N',
    parse: count(MANY),
    default: '64',
    doc: 'Subscriptions of one connection.',
  },
  wsTotalSubscriptions: {
    group: 'WebSocket',
    commands: SERVE,
    value: 'N',
    parse: count(MANY),
    default: '20000',
    doc: 'Subscriptions of all connections, per thread, of which one client may have half.',
  },
  wsQueueBytes: {
    group: 'WebSocket',
    commands: SERVE,
    value: 'SIZE',
    parse: bytes({ min: 2 ** 12, max: 2 ** 30 }),
    default: '8MiB',
    doc: 'Notifications that may wait for one client. One that is slower is closed with 4008.',
  },
  wsRequests: {
    group: 'WebSocket',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 10_000 }),
    default: '16',
    doc: 'Requests of one connection worked on at the same time. The next ones are read later.',
  },
  wsPingMs: {
    group: 'WebSocket',
    commands: SERVE,
    value: 'MS',
    parse: count({ min: 2, max: 3_600_000 }),
    default: '30000',
    doc: 'Pause between pings to each client.',
  },
  wsPongMs: {
    group: 'WebSocket',
    commands: SERVE,
    value: 'MS',
    parse: count(MILLISECONDS),
    default: '20000',
    doc: 'Time that a client has to answer a ping, at most the pause between two. Then it is cut off.',
  },
  wsCloseMs: {
    group: 'WebSocket',
    commands: SERVE,
    value: 'MS',
    parse: count(MILLISECONDS),
    default: '5000',
    doc: 'Time that a client has to take what waits for it once it is being closed.',
  },
  resumeBlocks: {
    group: 'WebSocket',
    commands: SERVE,
    value: 'BLOCKS',
    parse: count({ min: 1, max: 1_000_000 }),
    default: '1000',
    doc: 'Blocks of history that a resuming subscription reads at a time.',
  },
  resumeReaders: {
    group: 'WebSocket',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 1_000 }),
    default: '4',
    doc: 'Resuming subscriptions that read history at the same time, per thread. Each holds a block of it in memory.',
  },
  resumeWaitMs: {
    group: 'WebSocket',
    commands: SERVE,
    value: 'MS',
    parse: count(MILLISECONDS),
    default: '10000',
    doc: 'How long a resuming subscription waits to be told of a reorg that the store has already.',
  },
  stateChangesWaiting: {
    group: 'WebSocket',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 100_000 }),
    default: '64',
    doc: 'Events that may wait while stateChanges reads state, per thread.',
  },
} as const satisfies Record<string, OptionSpec>;
