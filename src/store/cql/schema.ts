import type { Session } from './session.ts';

/** The form of all rows. Stores of another form are refused, never misread: raise it with any change of a table or codec. */
export const FORM = 2;

/** Rows that are written once: cheap to write, and a partition's rows come to lie together as it ages. */
const APPENDED = "{'class': 'SizeTieredCompactionStrategy'}";
/** Rows that are looked for one by one, or written over: each is in few files. */
const SOUGHT = "{'class': 'LeveledCompactionStrategy'}";

/**
 * The tables. `copy` is one copy of one chain: another begins under a new number, and nothing of the old one is in its way.
 *
 * Largest partitions: `bodies` is one block; `links` 1,024 rows and `canonical` 4,096 of 40 bytes; `numbers`, `transactions` and `code` have
 * a row or a few; `postings` 16,384 rows of one value, of 2.3 KB at most (an era of 2^20 blocks); `state_last` a row an era (2^20 blocks), `state_history`
 * the versions of one key in an era: docs/scale.md has the arithmetic.
 */
const TABLES: Readonly<Record<string, { readonly columns: string; readonly options: string }>> = {
  chains: {
    columns: 'name text PRIMARY KEY, form int, holder text, epoch bigint, seq bigint, root text',
    options: `compaction = ${SOUGHT}`,
  },
  texts: {
    columns: 'chain text, name text, value text, PRIMARY KEY ((chain), name)',
    options: `compaction = ${SOUGHT}`,
  },
  bodies: {
    columns:
      'copy bigint, number bigint, kind tinyint, part int, hash blob, bytes blob, PRIMARY KEY ((copy, number), kind, part, hash)',
    options: `compaction = ${APPENDED}`,
  },
  links: {
    columns:
      'copy bigint, bucket bigint, number bigint, hash blob, parent blob, PRIMARY KEY ((copy, bucket), number, hash)',
    options: `compaction = ${APPENDED}`,
  },
  canonical: {
    columns: 'copy bigint, bucket bigint, number bigint, hash blob, PRIMARY KEY ((copy, bucket), number)',
    options: `compaction = ${SOUGHT}`,
  },
  numbers: {
    columns: 'copy bigint, hash blob, number bigint, PRIMARY KEY ((copy, hash))',
    options: `compaction = ${SOUGHT}`,
  },
  transactions: {
    columns: 'copy bigint, hash blob, number bigint, place int, PRIMARY KEY ((copy, hash), number)',
    options: `compaction = ${SOUGHT}`,
  },
  code: {
    columns: 'copy bigint, hash blob, number bigint, bytes blob, PRIMARY KEY ((copy, hash), number)',
    options: `compaction = ${SOUGHT}`,
  },
  postings: {
    columns:
      'copy bigint, position tinyint, value blob, era int, first bigint, last bigint, places blob, PRIMARY KEY ((copy, position, value, era), first, last)',
    options: `compaction = ${APPENDED}`,
  },
  state_last: {
    columns:
      'copy bigint, address blob, slot blob, era int, number bigint, value blob, PRIMARY KEY ((copy, address, slot), era)',
    options: `CLUSTERING ORDER BY (era DESC) AND compaction = ${SOUGHT}`,
  },
  state_history: {
    columns:
      'copy bigint, address blob, slot blob, era int, number bigint, value blob, PRIMARY KEY ((copy, address, slot, era), number)',
    options: `CLUSTERING ORDER BY (number DESC) AND compaction = ${APPENDED}`,
  },
};

/** Makes the tables that are not there yet. */
export async function createTables(session: Pick<Session, 'define'>): Promise<void> {
  for (const [name, { columns, options }] of Object.entries(TABLES)) {
    await session.define(`CREATE TABLE IF NOT EXISTS ${name} (${columns}) WITH ${options}`);
  }
}
