import type { Client } from 'cassandra-driver';
import { until } from '../../test/support/servers/process.ts';
import { markdown } from '../report.ts';
import { hotAddress, hotSlot } from './history.ts';
import type { Loaded } from './load.ts';

/** Compactions are over when nothing was under way for this long. */
const SETTLED_MS = 6_000;
/** Tables that have a row by key, or a block a partition. */
const OTHERS = ['bodies', 'canonical', 'numbers', 'transactions', 'state_last'] as const;
const MOST_MS = 10 * 60_000;

/** Has every table of a keyspace written to files, and waits until they are put in order: reads are to come from there. */
export async function flush(client: Client, keyspace: string): Promise<void> {
  const tables = await client.execute('SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?', [
    keyspace,
  ]);
  for (const row of tables.rows) {
    // There is no statement that flushes: a short period does it.
    await client.execute(
      `ALTER TABLE ${keyspace}.${row['table_name']} WITH memtable_flush_period_in_ms = 1000`,
      [],
      { prepare: false, readTimeout: 30_000 },
    );
  }
  let since = performance.now();
  await until(
    'tables to be in order',
    async () => {
      const tasks = await client.execute('SELECT * FROM system_views.sstable_tasks');
      if (tasks.rows.length > 0) since = performance.now();
      return performance.now() - since > SETTLED_MS || undefined;
    },
    MOST_MS,
  );
}

/** The largest partitions of each chain, and what all of its rows take, by what Cassandra says of its files. */
export async function describePartitions(client: Client, chains: readonly Loaded[]): Promise<string> {
  const columns = await Promise.all(
    chains.map(async ({ keyspace, copy, extent }): Promise<string[]> => {
      const largest = await mebibytes(client, 'max_partition_size', keyspace);
      const used = await mebibytes(client, 'disk_usage', keyspace);
      const rowsOf = async (from: string, values: readonly unknown[]): Promise<string> => {
        const count = `SELECT count(*) FROM ${keyspace}.${from} AND era = 0`;
        const found = await client.execute(count, [copy, ...values], { readTimeout: 60_000 });
        return Number(found.first()['count']).toLocaleString('en-US');
      };
      const { address, slot } = hotSlot;
      const history = 'state_history WHERE copy = ? AND address = ? AND slot = ?';
      const postings = 'postings WHERE copy = ? AND position = ? AND value = ?';
      return [
        extent === 'whole'
          ? `${await rowsOf(history, [address, slot])} / ${largest.get('state_history')}`
          : '',
        `${await rowsOf(postings, [0, hotAddress])} / ${largest.get('postings')}`,
        String(Math.max(...OTHERS.map((table) => largest.get(table) ?? 0))),
        String([...used.values()].reduce((sum, size) => sum + size, 0)),
      ];
    }),
  );
  const titles = [
    '`state_history`: a slot that every block writes',
    '`postings`: an address that every block has',
    'all others: MiB',
    'all tables: MiB',
  ];
  return markdown(
    [
      'largest partition, rows / MiB',
      ...chains.map(({ blocks }) => `${blocks.toLocaleString('en-US')} blocks`),
    ],
    titles.map((title, at) => [title, ...columns.map((cells) => cells[at] ?? '')]),
  );
}

/** Whole MiB of each table, rounded up. */
async function mebibytes(client: Client, view: string, keyspace: string): Promise<Map<string, number>> {
  const found = await client.execute(
    `SELECT table_name, mebibytes FROM system_views.${view} WHERE keyspace_name = ? ALLOW FILTERING`,
    [keyspace],
  );
  return new Map(found.rows.map((row) => [row['table_name'] as string, Number(row['mebibytes'])]));
}
