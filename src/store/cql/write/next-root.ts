import type { Outcome } from '../../../chain/outcome.ts';
import type { Hex } from '../../../primitives/hex.ts';
import { StoreError } from '../../error.ts';
import { raisedMarks, revertedMarks } from '../../marks.ts';
import { rowEnd, rowStart } from '../logs/posting-rows.ts';
import { newCopy, type Root } from '../root.ts';
import { refOf } from '../tail.ts';

/** The root row of a copy that begins with this block. */
export function beginning(first: Outcome, partial: boolean): Root {
  const start = refOf(first);
  return {
    copy: newCopy(),
    marks: { lowest: start, anchor: start, head: start, safe: undefined, finalized: undefined },
    parent: first.parentHash,
    settled: -1,
    indexed: first.number - 1,
    pruned: first.number,
    partial,
    wipes: false,
  };
}

/** Finds the hash of a canonical block. */
type FindHash = (number: number) => Promise<Hex | undefined>;

/** The root row once every block above `number` is taken off. */
export async function withoutAbove(
  root: Root | undefined,
  number: number,
  findHash: FindHash,
): Promise<Root> {
  const marks = root?.marks;
  const floor = Math.max(marks?.anchor.number ?? 0, marks?.finalized?.number ?? 0, root?.settled ?? 0);
  const canBe = marks !== undefined && number >= floor && number <= marks.head.number;
  const hash = canBe ? await findHash(number) : undefined;
  if (root === undefined || hash === undefined)
    throw new StoreError('outOfRange', `cannot revert to block ${number}`);
  // Rows of postings are whole or not at all.
  const whole = rowEnd(number) === number ? number : rowStart(number) - 1;
  const indexed = number >= root.indexed ? root.indexed : Math.max(root.marks.anchor.number - 1, whole);
  return { ...root, indexed, marks: revertedMarks(root.marks, { number, hash }) };
}

/** The root row once every block below `below` is forgotten. */
export async function withoutBelow(root: Root, below: number, findHash: FindHash): Promise<Root> {
  const [hash, parent] = await Promise.all([findHash(below), findHash(below - 1)]);
  if (hash === undefined || parent === undefined)
    throw new StoreError('corrupt', `no canonical hash of block ${below} or the one before it`);
  return { ...root, parent, marks: raisedMarks(root.marks, { number: below, hash }) };
}
