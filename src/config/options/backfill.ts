import { count } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';

const BACKFILL = ['backfill'] as const satisfies readonly Command[];
const BLOCK_NUMBER = { min: 0, max: Number.MAX_SAFE_INTEGER };

/** The rows of the table that are about history below the anchor. */
export const BACKFILL_OPTIONS = {
  from: {
    group: 'Backfilling',
    commands: BACKFILL,
    value: 'BLOCK',
    parse: count(BLOCK_NUMBER),
    default: '0',
    brief: 'Lowest block to fetch',
    doc: 'Lowest block to fetch.',
  },
  to: {
    group: 'Backfilling',
    commands: BACKFILL,
    value: 'BLOCK',
    parse: count(BLOCK_NUMBER),
    brief: 'Highest block; left out, just below what is held',
    doc: 'Highest block to fetch; must not leave a gap below what is held. Left out, it is the one just below that.',
  },
  backfillInFlight: {
    group: 'Backfilling',
    commands: BACKFILL,
    value: 'N',
    parse: count({ min: 1, max: 10_000 }),
    default: '64',
    doc: 'Blocks fetched at the same time.',
  },
  backfillBatch: {
    group: 'Backfilling',
    commands: BACKFILL,
    value: 'N',
    parse: count({ min: 1, max: 10_000 }),
    default: '256',
    doc: 'Blocks committed together, fewer if they are large. A crash loses at most this many.',
  },
  backfillPatienceMs: {
    group: 'Backfilling',
    commands: BACKFILL,
    value: 'MS',
    parse: count({ min: 1, max: 86_400_000 }),
    default: '600000',
    doc: 'How long a backfill goes on without a new block, while upstreams fail, before it ends with an error.',
  },
} as const satisfies Record<string, OptionSpec>;
