import type { Outcome } from '../../../chain/outcome.ts';
import { StoreError } from '../../error.ts';
import { checkLinks } from '../../marks.ts';
import { bucketBlocks } from '../../postings.ts';
import { BucketWriter } from '../logs/write-postings.ts';
import {
  readIndexedFrom,
  readMarks,
  readParent,
  writeIndexedFrom,
  writeMarks,
  writeParent,
} from '../meta.ts';
import { putAnywhere } from '../tables.ts';
import { type WriteContext, writeBlock } from './block-rows.ts';

/**
 * Adds blocks below the lowest. No append or revert can come to their buckets but that of the lowest block, so their
 * postings are closed at once; in that one bucket they are added to what is there, and readers look into `recent` too.
 * Rows that a prune has left there are of the same blocks, since these link to the lowest: writing them again is
 * harmless.
 */
export function prependBlocks(context: WriteContext, outcomes: readonly Outcome[]): void {
  const { tables } = context;
  const before = readMarks(tables);
  const first = outcomes[0];
  if (before === undefined) throw new StoreError('conflict', 'cannot prepend to an empty store');
  if (first === undefined) return;
  checkLinks(undefined, outcomes);
  const { lowest } = before;
  const last = outcomes.at(-1);
  if (last?.number !== lowest.number - 1 || last.hash !== readParent(tables)) {
    throw new StoreError(
      'conflict',
      `block ${last?.number} ${last?.hash} is not the parent of the lowest held, ${lowest.number}`,
    );
  }
  const joined = Math.floor(lowest.number / bucketBlocks);
  const buckets = new BucketWriter(tables, context.prefix, joined);
  for (const outcome of outcomes) {
    writeBlock(tables, outcome, putAnywhere);
    buckets.add(outcome.number, outcome.logs);
  }
  buckets.flush();
  // What lies between is brought in later, and these again.
  if ((readIndexedFrom(tables) ?? Number.POSITIVE_INFINITY) <= lowest.number)
    writeIndexedFrom(tables, first.number);
  writeParent(tables, first.parentHash);
  writeMarks(tables, { ...before, lowest: { number: first.number, hash: first.hash } });
}
