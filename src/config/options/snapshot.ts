import { path } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';

const SNAPSHOT = ['snapshot'] as const satisfies readonly Command[];

/** The rows of the table that are about snapshots. */
export const SNAPSHOT_OPTIONS = {
  snapshot: {
    group: 'Snapshots',
    commands: SNAPSHOT,
    value: 'DIR',
    parse: path,
    required: SNAPSHOT,
    isCommon: true,
    doc: 'Folder of the snapshot that is written or restored. An export into one that is there writes what is new. See docs/snapshots.md.',
  },
} as const satisfies Record<string, OptionSpec>;
