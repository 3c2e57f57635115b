import { encodeLogChunks } from '../../src/chain/log-codec.ts';
import type { Outcome } from '../../src/chain/outcome.ts';
import { encodeReceipts } from '../../src/chain/receipt-codec.ts';
import { fromHex } from '../../src/primitives/hex.ts';
import { encodePlaces, placeOf } from '../../src/store/postings.ts';

/** The planned tables, and the alternative for state without eras. */
const TABLES: Readonly<Record<string, string>> = {
  chains: `chain text PRIMARY KEY, epoch bigint, seq bigint, holder text, heartbeat bigint, copy bigint,
    head int, head_hash blob, indexed int`,
  bodies:
    'copy bigint, number int, kind text, part int, hash blob, bytes blob, PRIMARY KEY ((copy, number), kind, part, hash)',
  links:
    'copy bigint, thousand int, number int, hash blob, parent blob, PRIMARY KEY ((copy, thousand), number, hash)',
  canonical: 'copy bigint, bucket int, number int, hash blob, PRIMARY KEY ((copy, bucket), number)',
  numbers: 'copy bigint, hash blob, number int, PRIMARY KEY ((copy, hash))',
  transactions: 'copy bigint, hash blob, number int, place int, PRIMARY KEY ((copy, hash))',
  postings: `copy bigint, position tinyint, value blob, era int, first int, last int, places blob,
    PRIMARY KEY ((copy, position, value, era), first, last)`,
  state_last: `copy bigint, address blob, slot blob, era int, number int, value blob,
    PRIMARY KEY ((copy, address, slot), era)) WITH CLUSTERING ORDER BY (era DESC`,
  state_history: `copy bigint, address blob, slot blob, era int, number int, value blob,
    PRIMARY KEY ((copy, address, slot, era), number)) WITH CLUSTERING ORDER BY (number DESC`,
  state_flat: `copy bigint, address blob, slot blob, number int, value blob,
    PRIMARY KEY ((copy, address, slot), number)) WITH CLUSTERING ORDER BY (number DESC`,
};

/** The statements that make a keyspace with these tables. */
export function schema(keyspace: string, compressor: string): readonly string[] {
  const replication = "{'class': 'NetworkTopologyStrategy', 'datacenter1': 3}";
  const options = `compression = {'class': '${compressor}'}`;
  return [
    `CREATE KEYSPACE ${keyspace} WITH replication = ${replication}`,
    ...Object.entries(TABLES).map(([name, columns]) => {
      const more = columns.includes(') WITH ') ? 'AND' : 'WITH';
      return `CREATE TABLE ${keyspace}.${name} (${columns}) ${more} ${options}`;
    }),
  ];
}

/** One row to insert: the columns in the order of the statement. */
export interface Row {
  readonly table: string;
  readonly values: readonly unknown[];
}

const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  bodies: ['copy', 'number', 'kind', 'part', 'hash', 'bytes'],
  links: ['copy', 'thousand', 'number', 'hash', 'parent'],
  canonical: ['copy', 'bucket', 'number', 'hash'],
  numbers: ['copy', 'hash', 'number'],
  transactions: ['copy', 'hash', 'number', 'place'],
  postings: ['copy', 'position', 'value', 'era', 'first', 'last', 'places'],
  state_last: ['copy', 'address', 'slot', 'era', 'number', 'value'],
  state_history: ['copy', 'address', 'slot', 'era', 'number', 'value'],
  state_flat: ['copy', 'address', 'slot', 'number', 'value'],
};

/** The statement that inserts a row of a table. The last value is the timestamp that fences the cell. */
export function insertInto(keyspace: string, table: string): string {
  const columns = COLUMNS[table] ?? [];
  const places = columns.map(() => '?').join(', ');
  return `INSERT INTO ${keyspace}.${table} (${columns.join(', ')}) VALUES (${places}) USING TIMESTAMP ?`;
}

export const COPY = 1n;
const PIECE_BYTES = 512 * 1_024;
export const BUCKET_BLOCKS = 64;
export const canonicalBucket = (number: number): number => number >> 12;
export const postingEra = (number: number): number => number >> 18;
export const stateEra = (number: number): number => number >> 20;
/** The slot of an account's row. */
export const NO_SLOT = Buffer.alloc(0);

function pieces(bytes: Uint8Array): readonly Uint8Array[] {
  const count = Math.max(1, Math.ceil(bytes.length / PIECE_BYTES));
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * PIECE_BYTES, (at + 1) * PIECE_BYTES));
}

/** Tier 1: what is written before a block is canonical. */
export function outcomeRows(outcome: Outcome): { readonly bodies: readonly Row[]; readonly link: Row } {
  const { number } = outcome;
  const hash = fromHex(outcome.hash);
  const head = { hash, timestamp: outcome.timestamp };
  const kinds: [string, readonly Uint8Array[]][] = [
    ['header', pieces(outcome.header)],
    ['block', pieces(outcome.block)],
    ['receipts', pieces(encodeReceipts(outcome.receipts))],
    ['diff', pieces(outcome.diffBytes)],
    [
      'logs',
      encodeLogChunks(head, outcome.logs, (index) => outcome.receipts[index]?.transactionHash ?? hash),
    ],
  ];
  const bodies = kinds.flatMap(([kind, parts]) =>
    parts.map((bytes, part) => ({ table: 'bodies', values: [COPY, number, kind, part, hash, bytes] })),
  );
  const link = {
    table: 'links',
    values: [COPY, number >> 10, number, hash, fromHex(outcome.parentHash)],
  };
  return { bodies, link };
}

/** Tier 2: what is written behind, for the blocks of one bucket. */
export function indexRows(outcomes: readonly Outcome[]): readonly Row[] {
  const last = new Map<string, Row>();
  const rows: Row[] = [];
  for (const { number, hash: hex, receipts, diff } of outcomes) {
    const hash = fromHex(hex);
    rows.push({ table: 'canonical', values: [COPY, canonicalBucket(number), number, hash] });
    rows.push({ table: 'numbers', values: [COPY, hash, number] });
    receipts.forEach(({ transactionHash }, index) => {
      rows.push({ table: 'transactions', values: [COPY, transactionHash, number, index] });
    });
    const era = stateEra(number);
    const changes = [
      ...diff.slots,
      ...diff.accounts.map(([address, value]) => [address, NO_SLOT, value] as const),
    ];
    for (const [address, slot, value] of changes) {
      const values = [COPY, address, slot, era, number, value];
      rows.push({ table: 'state_history', values });
      last.set(textOf(address) + textOf(slot), { table: 'state_last', values });
    }
  }
  return [...rows, ...last.values(), ...postingRows(outcomes)];
}

/** One row for each value that occurs in these blocks, which are of one bucket. */
export function postingRows(outcomes: readonly Outcome[]): readonly Row[] {
  const found = new Map<string, { position: number; value: Uint8Array; places: number[] }>();
  for (const { number, logs } of outcomes) {
    logs.forEach(({ address, topics }, index) => {
      [address, ...topics].forEach((value, position) => {
        const key = position + textOf(value);
        const entry = found.get(key) ?? { position, value, places: [] };
        entry.places.push(placeOf(number, index));
        found.set(key, entry);
      });
    });
  }
  const first = outcomes[0]?.number ?? 0;
  const end = outcomes.at(-1)?.number ?? 0;
  return [...found.values()].map(({ position, value, places }) => ({
    table: 'postings',
    values: [COPY, position, value, postingEra(first), first, end, encodePlaces(places)],
  }));
}

/** Rows of the table without eras. */
export function flatRows(outcomes: readonly Outcome[]): readonly Row[] {
  return outcomes.flatMap(({ number, diff }) =>
    [...diff.slots, ...diff.accounts.map(([address, value]) => [address, NO_SLOT, value] as const)].map(
      ([address, slot, value]) => ({ table: 'state_flat', values: [COPY, address, slot, number, value] }),
    ),
  );
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
