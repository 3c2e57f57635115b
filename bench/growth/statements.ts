import { Client, types } from 'cassandra-driver';
import type { Session, Value } from '../../src/store/cql/session.ts';
import type { Cassandra } from '../../test/support/servers/fleet/cassandra.ts';

interface Read {
  readonly query: string;
  readonly values: readonly Value[];
}

/** What a piece of work asked of Cassandra. */
export interface Asked {
  /** Reads that are under way together; each round begins when the one before has ended. */
  readonly rounds: readonly (readonly Read[])[];
  readonly reads: number;
  readonly rows: number;
  readonly partitions: number;
}

/** Columns of the partition key of each table: all reads name them first. */
const KEY_COLUMNS: Readonly<Record<string, number>> = {
  bodies: 2,
  canonical: 2,
  numbers: 2,
  transactions: 2,
  postings: 4,
  state_last: 3,
  state_history: 4,
};

/** Does a piece of work, alone, and tells what it asked. */
export async function record(session: Session, work: () => Promise<unknown>): Promise<Asked> {
  const rounds: Read[][] = [];
  const partitions = new Set<string>();
  let [underWay, rows] = [0, 0];
  const read = session.rows.bind(session);
  session.rows = async (query, values) => {
    if (underWay++ === 0) rounds.push([]);
    rounds.at(-1)?.push({ query, values });
    partitions.add(partitionOf(query, values));
    try {
      const found = await read(query, values);
      rows += found.length;
      return found;
    } finally {
      underWay--;
    }
  };
  try {
    await work();
  } finally {
    Reflect.deleteProperty(session, 'rows');
  }
  const reads = rounds.reduce((sum, round) => sum + round.length, 0);
  return { rounds, reads, rows, partitions: partitions.size };
}

function partitionOf(query: string, values: readonly Value[]): string {
  const table = /FROM (\w+)/.exec(query)?.[1] ?? '';
  const columns = KEY_COLUMNS[table];
  if (columns === undefined) throw new Error(`no partition key is known of ${table}`);
  const key = values
    .slice(0, columns)
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)));
  return [table, ...key].join(' ');
}

/** The driver as it comes, with the same consistency. */
export async function openBare(cassandra: Cassandra, keyspace: string): Promise<Client> {
  const client = new Client({
    contactPoints: [...cassandra.contactPoints],
    localDataCenter: cassandra.localDataCenter,
    keyspace,
    encoding: { useBigIntAsLong: true },
    queryOptions: { prepare: true, consistency: types.consistencies.localQuorum },
  });
  await client.connect();
  return client;
}

/** Has the bare driver ask the same in the same rounds; what it answers is left as the driver gives it. */
export async function replay(client: Client, { rounds }: Asked): Promise<void> {
  for (const round of rounds)
    await Promise.all(round.map(({ query, values }) => client.execute(query, values.map(asBuffer))));
}

function asBuffer(value: Value): unknown {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}
