import type { Session, Statement } from './session.ts';
import type { Subject, Version } from './tail.ts';

/** Blocks of an era: a key that every block writes has so many versions in one partition at most. */
const ERA_BLOCKS = 2 ** 20;
/** Where values as of the anchor are, read elsewhere: older than all that blocks wrote. */
export const PINNED = -1;

const SELECT_LAST =
  'SELECT era, number, value FROM state_last WHERE copy = ? AND address = ? AND slot = ? AND era <= ? LIMIT 2';
const SELECT_HISTORY =
  'SELECT number, value FROM state_history WHERE copy = ? AND address = ? AND slot = ? AND era = ? AND number <= ? LIMIT 1';
const SELECT_PIN = 'SELECT number FROM state_last WHERE copy = ? AND address = ? AND slot = ? AND era = ?';
const INSERT_LAST =
  'INSERT INTO state_last (copy, address, slot, era, number, value) VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?';
const INSERT_HISTORY =
  'INSERT INTO state_history (copy, address, slot, era, number, value) VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?';
const DELETE_LAST =
  'DELETE FROM state_last USING TIMESTAMP ? WHERE copy = ? AND address = ? AND slot = ? AND era = ?';
const DELETE_LAST_BELOW =
  'DELETE FROM state_last USING TIMESTAMP ? WHERE copy = ? AND address = ? AND slot = ? AND era < ?';
const DELETE_HISTORY =
  'DELETE FROM state_history USING TIMESTAMP ? WHERE copy = ? AND address = ? AND slot = ? AND era = ? AND number = ?';
const DELETE_HISTORY_BELOW =
  'DELETE FROM state_history USING TIMESTAMP ? WHERE copy = ? AND address = ? AND slot = ? AND era = ? AND number < ?';

/** The era of a block. */
export function eraOf(number: number): number {
  return Math.floor(number / ERA_BLOCKS);
}

/**
 * The newest version of a subject at or before an indexed block. The last value of each era answers for whatever was not written again
 * since, and for reads at the head, in one round trip; what was written again in the era of the block takes a second one.
 */
export async function readVersion(
  session: Session,
  copy: bigint,
  { address, slot }: Subject,
  number: number,
): Promise<Version | undefined> {
  const rows = await session.rows(SELECT_LAST, [copy, address, slot, eraOf(number)]);
  const [last, before] = rows.map((row) => ({
    era: row['era'] as number,
    number: Number(row['number'] as bigint),
    value: row['value'] as Buffer,
  }));
  if (last === undefined || last.number <= number) return last;
  const [version] = await session.rows(SELECT_HISTORY, [copy, address, slot, last.era, BigInt(number)]);
  if (version === undefined) return before;
  return { number: Number(version['number'] as bigint), value: version['value'] as Buffer };
}

/** Whether a value as of the anchor was written. */
export async function hasPin(session: Session, copy: bigint, { address, slot }: Subject): Promise<boolean> {
  return (await session.rows(SELECT_PIN, [copy, address, slot, PINNED])).length > 0;
}

/** Writes one of the versions of a subject. */
export function versionStatement(
  copy: bigint,
  { address, slot }: Subject,
  { number, value }: Version,
  time: bigint,
): Statement {
  return { query: INSERT_HISTORY, values: [copy, address, slot, eraOf(number), BigInt(number), value, time] };
}

/** Writes the newest version of a subject in its era. */
export function lastStatement(
  copy: bigint,
  { address, slot }: Subject,
  { number, value }: Version,
  time: bigint,
): Statement {
  return { query: INSERT_LAST, values: [copy, address, slot, eraOf(number), BigInt(number), value, time] };
}

/** Writes a value as of the anchor. */
export function pinStatement(copy: bigint, subject: Subject, value: Uint8Array, time: bigint): Statement {
  return {
    query: INSERT_LAST,
    values: [copy, subject.address, subject.slot, PINNED, BigInt(PINNED), value, time],
  };
}

/** Takes back what a block wrote that is not canonical any more; `before` is the newest version that is. */
export function unwriteStatements(
  copy: bigint,
  subject: Subject,
  number: number,
  before: Version | undefined,
  time: bigint,
): Statement[] {
  const { address, slot } = subject;
  const era = eraOf(number);
  const isSameEra = before !== undefined && before.number !== PINNED && eraOf(before.number) === era;
  return [
    { query: DELETE_HISTORY, values: [time, copy, address, slot, era, BigInt(number)] },
    isSameEra
      ? lastStatement(copy, subject, before, time)
      : { query: DELETE_LAST, values: [time, copy, address, slot, era] },
  ];
}

/** Deletes what nobody can read any more who reads at or above a block that wrote the subject. */
export function supersededStatements(
  copy: bigint,
  { address, slot }: Subject,
  number: number,
  time: bigint,
): Statement[] {
  const era = eraOf(number);
  return [
    { query: DELETE_HISTORY_BELOW, values: [time, copy, address, slot, era, BigInt(number)] },
    { query: DELETE_LAST_BELOW, values: [time, copy, address, slot, era] },
  ];
}

/** Every subject that has rows. Goes through the whole table: for checks and copies only. */
export async function* scanSubjects(
  session: Session,
  copy: bigint,
): AsyncGenerator<Subject, void, undefined> {
  const query = 'SELECT DISTINCT copy, address, slot FROM state_last WHERE copy = ? ALLOW FILTERING';
  for await (const page of session.pages(query, [copy])) {
    for (const row of page) yield { address: row['address'] as Buffer, slot: row['slot'] as Buffer };
  }
}

/** Every version that blocks wrote which are indexed. Goes through the whole table: for checks and copies only. */
export async function* scanHistory(
  session: Session,
  copy: bigint,
  slot?: Uint8Array,
): AsyncGenerator<Version & { readonly subject: Subject }, void, undefined> {
  const columns = 'SELECT address, slot, number, value FROM state_history WHERE copy = ?';
  const [filter, values] = slot === undefined ? ['', [copy]] : [' AND slot = ?', [copy, slot]];
  for await (const page of session.pages(`${columns}${filter} ALLOW FILTERING`, values)) {
    for (const row of page) {
      const subject = { address: row['address'] as Buffer, slot: row['slot'] as Buffer };
      yield { subject, number: Number(row['number'] as bigint), value: row['value'] as Buffer };
    }
  }
}
