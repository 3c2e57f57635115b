import type { StateVersion } from '../../interface.ts';
import { samePrefix, versionNumber } from '../keys.ts';
import type { Table, Tables } from '../tables.ts';
import { WipeLookup } from './state.ts';

const rowsPerPage = 2048;
const empty = new Uint8Array(0);

/** The blocks whose versions are wanted, and whether a key without one is unknown. */
interface Wanted {
  readonly from: number;
  readonly to: number;
  readonly partial: boolean;
}

/**
 * What is known as of block `from`, and every version above up to `to`. A page per snapshot, as a scan of entries: versions up to `to`
 * never change while that is canonical and `from` has state, and `stillThere` throws otherwise.
 */
export function* versionsBetween(
  tables: Tables,
  wanted: Wanted,
  stillThere: () => void,
): Generator<StateVersion> {
  const { from, partial } = wanted;
  for (const { subject, number } of scanSubjects(tables.wipes, 20, wanted, stillThere)) {
    if (partial || number > from) yield { kind: 'wipe', address: subject, number: Math.max(number, from) };
  }
  for (const { subject, number, value } of scanSubjects(tables.accounts, 20, wanted, stillThere)) {
    if (number > from || partial || value.length > 0)
      yield { kind: 'account', address: subject, number: Math.max(number, from), value };
  }
  const wipes = new WipeLookup(tables, from);
  for (const row of scanSubjects(tables.slots, 52, wanted, stillThere)) {
    const [address, slot] = [row.subject.subarray(0, 20), row.subject.subarray(20)];
    if (row.number > from) {
      yield { kind: 'slot', address, slot, number: row.number, value: row.value };
      continue;
    }
    const wiped = wipes.last(address);
    const value = row.number >= (wiped ?? 0) ? row.value : empty;
    if (value.length > 0 || (partial && wiped === undefined))
      yield { kind: 'slot', address, slot, number: from, value };
  }
  for (const page of pagesOf(tables.code, stillThere))
    for (const { key, value } of page) yield { kind: 'code', hash: key, value };
}

interface Row {
  readonly subject: Uint8Array;
  readonly number: number;
  readonly value: Uint8Array;
}

/** Rows of a table by subject, newest first: those above `from`, and the first that is not. */
function* scanSubjects(
  table: Table,
  subjectBytes: number,
  { from, to }: Wanted,
  stillThere: () => void,
): Generator<Row> {
  let last: Uint8Array | undefined;
  let isDone = false;
  for (const page of pagesOf(table, stillThere)) {
    for (const { key, value } of page) {
      if (last === undefined || !samePrefix(last, key, subjectBytes)) isDone = false;
      last = key;
      const number = versionNumber(key);
      if (isDone || number > to) continue;
      isDone = number <= from;
      yield { subject: key.subarray(0, subjectBytes), number, value };
    }
  }
}

function* pagesOf(
  table: Table,
  stillThere: () => void,
): Generator<readonly { readonly key: Uint8Array; readonly value: Uint8Array }[]> {
  let start: Uint8Array = new Uint8Array(1);
  for (;;) {
    stillThere();
    const page = [...table.getRange({ start, limit: rowsPerPage })];
    yield page;
    const last = page.at(-1);
    if (page.length < rowsPerPage || last === undefined) return;
    start = Buffer.concat([last.key, new Uint8Array(1)]);
  }
}
