import type { BlockRef, Outcome } from '../chain/outcome.ts';
import { StoreError } from './error.ts';
import type { Marks } from './interface.ts';
import { maxLogsPerBlock } from './postings.ts';

// What changes do to the marks, the same for each driver.

/** Refuses blocks that do not follow each other, and the head, by number and hash. */
export function checkLinks(head: BlockRef | undefined, outcomes: readonly Outcome[]): void {
  let parent = head;
  for (const outcome of outcomes) {
    if (
      parent !== undefined &&
      (outcome.number !== parent.number + 1 || outcome.parentHash !== parent.hash)
    ) {
      throw new StoreError(
        'conflict',
        `block ${outcome.number} (parent ${outcome.parentHash}) does not follow ${parent.number} ${parent.hash}`,
      );
    }
    if (outcome.logs.length > maxLogsPerBlock) {
      throw new StoreError('outOfRange', `block ${outcome.number} has more than ${maxLogsPerBlock} logs`);
    }
    parent = outcome;
  }
}

/** The marks once every block above the new head is taken off. */
export function revertedMarks(before: Marks, head: BlockRef): Marks {
  const { byDiffs, ...others } = before;
  const safe = (before.safe?.number ?? head.number) > head.number ? head : before.safe;
  const isLeft = byDiffs !== undefined && byDiffs.number <= head.number;
  return { ...others, head, safe, ...(isLeft && { byDiffs }) };
}

/** The marks once every block below the new start is forgotten. */
export function raisedMarks(before: Marks, start: BlockRef): Marks {
  const held = (mark: Marks['safe']): Marks['safe'] =>
    (mark?.number ?? 0) < start.number ? undefined : mark;
  return {
    ...before,
    lowest: start,
    anchor: before.anchor.number < start.number ? start : before.anchor,
    safe: held(before.safe),
    finalized: held(before.finalized),
  };
}

/** The marks with safe and finalized moved up; they are canonical blocks. */
export function movedMarks(before: Marks, moved: Partial<Pick<Marks, 'safe' | 'finalized'>>): Marks {
  for (const name of ['safe', 'finalized'] as const) {
    const [ref, mark] = [moved[name], before[name]];
    if (ref !== undefined && mark !== undefined && ref.number < mark.number) {
      throw new StoreError('conflict', `${name} is block ${mark.number} and does not go back`);
    }
  }
  const finalized = moved.finalized ?? before.finalized;
  const safe = moved.safe ?? before.safe;
  const isSafe = finalized === undefined || (safe?.number ?? -1) >= finalized.number;
  return { ...before, finalized, safe: isSafe ? safe : finalized };
}

/** Says what is held instead of what was asked for. */
export function outOfRange(what: string, marks: Marks | undefined): StoreError {
  const held =
    marks === undefined
      ? 'nothing yet'
      : `blocks ${marks.lowest.number} to ${marks.head.number} and state from ${marks.anchor.number} on`;
  return new StoreError('outOfRange', `${what} not available: the store holds ${held}`);
}
