import { keyText } from '../../../chain/state-key.ts';
import type { Pin } from '../../interface.ts';
import { codeStatement, hashStatement, hasPinnedCode, readHash } from '../index-rows.ts';
import { copyOf, type Root } from '../root.ts';
import type { Session, Statement } from '../session.ts';
import { hasPin, pinStatement } from '../state-rows.ts';
import { subjectOf } from '../tail.ts';

/** Writes what was not pinned before as of the anchor: what blocks wrote is newer, and hides it. */
export async function writePins(
  session: Session,
  root: Root,
  pins: readonly Pin[],
  time: bigint,
): Promise<void> {
  // A complete store lacks nothing but hashes of blocks that it does not hold.
  const wanted = pins.filter(({ key }) => root.partial || key.kind === 'blockHash').toReversed();
  const first = new Map(wanted.map((pin) => [keyText(pin.key), pin]));
  const statements = await Promise.all(
    [...first.values()].map((pin) => statementOf(session, root, pin, time)),
  );
  await session.write(statements.filter((statement) => statement !== undefined));
}

async function statementOf(
  session: Session,
  root: Root,
  { key, value }: Pin,
  time: bigint,
): Promise<Statement | undefined> {
  const copy = copyOf(root);
  switch (key.kind) {
    case 'account':
    case 'slot': {
      const subject = subjectOf(key);
      return (await hasPin(session, copy, subject)) ? undefined : pinStatement(copy, subject, value, time);
    }
    case 'code': {
      const isPinned = await hasPinnedCode(session, copy, key.hash);
      return isPinned ? undefined : codeStatement(copy, key.hash, value, undefined, time);
    }
    case 'blockHash': {
      const isBelow = key.number < root.marks.lowest.number;
      if (!isBelow || (await readHash(session, copy, key.number)) !== undefined) return undefined;
      return hashStatement(copy, key.number, value, time);
    }
  }
}
