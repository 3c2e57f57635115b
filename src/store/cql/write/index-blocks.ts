import type { Outcome } from '../../../chain/outcome.ts';
import { type Link, readLinks, readOutcome } from '../bodies.ts';
import { codeStatement, nameStatements, uncodeStatement, unnameStatements } from '../index-rows.ts';
import { deletePostings, postingStatements } from '../logs/posting-rows.ts';
import type { Session, Statement } from '../session.ts';
import { lastStatement, readVersion, unwriteStatements, versionStatement } from '../state-rows.ts';
import { type Subject, subjectText, type Version, writesOf } from '../tail.ts';

/** Where rows go, and when they are written. */
export interface IndexTarget {
  readonly session: Session;
  readonly copy: bigint;
  readonly nextTime: () => bigint;
  /** Batches under way at the same time: blocks come first, and these are in their way. */
  readonly atOnce: number;
}

/**
 * Writes the rows by key and the postings of blocks that follow each other and share a row. Blocks of these numbers that were taken off
 * may have left rows, written by this process or by one before it: those go first. What tells of such blocks stays, for readers who saw
 * them.
 */
export async function indexBlocks(target: IndexTarget, blocks: readonly Outcome[]): Promise<void> {
  const { session, copy } = target;
  await removeOrphans(target, blocks);
  const time = target.nextTime();
  const last = new Map<string, readonly [Subject, Version]>();
  const statements: Statement[] = postingStatements(copy, blocks, time);
  for (const outcome of blocks) {
    statements.push(...nameStatements(copy, outcome, time));
    for (const [hash, code] of outcome.diff.codes)
      statements.push(codeStatement(copy, hash, code, outcome, time));
    for (const [subject, value] of writesOf(outcome)) {
      const version = { number: outcome.number, value };
      statements.push(versionStatement(copy, subject, version, time));
      last.set(subjectText(subject), [subject, version]);
    }
  }
  for (const [subject, version] of last.values())
    statements.push(lastStatement(copy, subject, version, time));
  await session.write(statements, target.atOnce);
}

async function removeOrphans(target: IndexTarget, blocks: readonly Outcome[]): Promise<void> {
  const { session, copy } = target;
  const [first, last] = [blocks[0], blocks.at(-1)];
  if (first === undefined || last === undefined) return;
  const canonical = new Set(blocks.map(({ hash }) => hash));
  const links = await readLinks(session, copy, first.number, last.number);
  const orphans = links.filter(({ hash }) => !canonical.has(hash));
  if (orphans.length === 0) return;
  const outcomes = await Promise.all(orphans.map((link) => readOrphan(target, link)));
  const whole = outcomes.filter((outcome) => outcome !== undefined);
  const time = target.nextTime();
  const statements: Statement[] = deletePostings(copy, whole, first.number, time);
  for (const outcome of whole) {
    statements.push(...unnameStatements(copy, outcome, time));
    for (const [hash] of outcome.diff.codes) statements.push(uncodeStatement(copy, hash, outcome, time));
    for (const [subject] of writesOf(outcome)) {
      const before = await readVersion(session, copy, subject, first.number - 1);
      statements.push(...unwriteStatements(copy, subject, outcome.number, before, time));
    }
  }
  await session.write(statements, target.atOnce);
}

/** A block whose rows were never all written was never canonical: nothing was made of it. */
async function readOrphan({ session, copy }: IndexTarget, link: Link): Promise<Outcome | undefined> {
  try {
    return await readOutcome(session, copy, link);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'corrupt') return undefined;
    throw error;
  }
}
