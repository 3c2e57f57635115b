import { count, duration, path, share } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';

const PLAN = ['plan'] as const satisfies readonly Command[];
const SNAPSHOT = ['snapshot'] as const satisfies readonly Command[];
const DAY_MS = 86_400_000;

/** The rows of the table that are about snapshots, and about what a fleet is planned for. */
export const OPERATING_OPTIONS = {
  snapshot: {
    group: 'Snapshots',
    commands: SNAPSHOT,
    value: 'DIR',
    parse: path,
    required: SNAPSHOT,
    brief: 'Folder of the snapshot',
    doc: 'Folder of the snapshot that is written or restored. An export into one that is there writes what is new. See docs/snapshots.md.',
  },
  retention: {
    group: 'Planning',
    commands: PLAN,
    value: 'TIME',
    parse: duration({ min: 3_600_000, max: 3_650 * DAY_MS }),
    default: '90d',
    brief: 'How long blocks and state are kept',
    doc: 'How long blocks and their state are kept.',
  },
  rps: {
    group: 'Planning',
    commands: PLAN,
    value: 'N',
    parse: count({ min: 0, max: 1_000_000_000 }),
    default: '1000',
    brief: 'Requests a second that the fleet answers',
    doc: 'Requests a second that the fleet answers.',
  },
  callsShare: {
    group: 'Planning',
    commands: PLAN,
    value: 'SHARE',
    parse: share,
    default: '0.3',
    brief: 'Part of them that are calls, 0 to 1',
    doc: 'Which part of them are calls (eth_call, eth_estimateGas), from 0 to 1.',
  },
  tps: {
    group: 'Planning',
    commands: PLAN,
    value: 'N',
    parse: count({ min: 0, max: 1_000_000 }),
    brief: 'Transactions a second; left out, 60 a block',
    doc: 'Transactions a second of the chain. Left out, 60 a block, which is a busy one of Base.',
  },
  replicaCores: {
    group: 'Planning',
    commands: PLAN,
    value: 'N',
    parse: count({ min: 1, max: 1_024 }),
    default: '8',
    brief: 'Cores of one replica',
    doc: 'Cores of one replica.',
  },
} as const satisfies Record<string, OptionSpec>;
