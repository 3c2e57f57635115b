import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, types } from 'cassandra-driver';
import { LogChunk, logsPerChunk } from '../../src/chain/log-codec.ts';
import type { Outcome } from '../../src/chain/outcome.ts';
import type { SlotKey } from '../../src/chain/state-key.ts';
import { fromHex } from '../../src/primitives/hex.ts';
import { decodePlaces, maxLogsPerBlock } from '../../src/store/postings.ts';
import type { Cassandra } from '../../test/support/servers/fleet/cassandra.ts';
import { until } from '../../test/support/servers/process.ts';
import { hotAddress, plantedTopic } from './content.ts';
import {
  COPY,
  canonicalBucket,
  insertInto,
  outcomeRows,
  postingEra,
  type Row,
  schema,
  stateEra,
} from './tables.ts';
import { inParallel } from './timing.ts';

const CHAIN = 'bench';
const EPOCH = 1n;
/** Blocks of which one posting codec speaks; a bucket of ours lies within it. */
const CODEC_BLOCKS = 256;
/** Rows of a lane that are asked for before it is known which lane is the shortest. */
const FIRST_PAGE = 128;
/** Files are of their final size when they have been so for this long. */
const SETTLED_MS = 6_000;

/** How rows are written: each by itself, or some in each unlogged batch, and how many of either at a time. */
export interface WriteMode {
  readonly width: number;
  readonly batch: number;
}

/** Cassandra refuses batches of several partitions above 50 KiB, and warns above 5. */
const BATCH_BYTES = 16 * 1_024;

function* batchesOf(rows: readonly Row[], most: number): Generator<readonly Row[]> {
  let batch: Row[] = [];
  let room = BATCH_BYTES;
  for (const row of rows) {
    for (const value of row.values) room -= value instanceof Uint8Array ? value.length : 8;
    batch.push(row);
    if (batch.length < most && room > 0) continue;
    yield batch;
    batch = [];
    room = BATCH_BYTES;
  }
  if (batch.length > 0) yield batch;
}

/** The planned tables in one keyspace, by the bare driver. */
export class CqlTables {
  readonly #client: Client;
  readonly #keyspace: string;
  readonly #compressor: string;
  readonly #cassandra: Cassandra;
  #counter = EPOCH << 32n;
  #seq = 0n;

  private constructor(client: Client, keyspace: string, compressor: string, cassandra: Cassandra) {
    this.#client = client;
    this.#keyspace = keyspace;
    this.#compressor = compressor;
    this.#cassandra = cassandra;
  }

  static async create(cassandra: Cassandra, keyspace: string, compressor: string): Promise<CqlTables> {
    const client = new Client({
      contactPoints: [...cassandra.contactPoints],
      localDataCenter: cassandra.localDataCenter,
      encoding: { useBigIntAsLong: true },
      queryOptions: {
        prepare: true,
        isIdempotent: true,
        consistency: types.consistencies.localQuorum,
        serialConsistency: types.consistencies.localSerial,
      },
      socketOptions: { readTimeout: 30_000 },
    });
    await client.connect();
    for (const statement of schema(keyspace, compressor)) {
      await client.execute(statement, [], { prepare: false });
    }
    await client.execute(`INSERT INTO ${keyspace}.chains (chain, epoch, seq) VALUES (?, ?, ?)`, [
      CHAIN,
      EPOCH,
      0n,
    ]);
    return new CqlTables(client, keyspace, compressor, cassandra);
  }

  close(): Promise<void> {
    return this.#client.shutdown();
  }

  async write(rows: readonly Row[], { width, batch }: WriteMode): Promise<void> {
    if (batch === 1) return inParallel(rows, width, (row) => this.#insert(row));
    await inParallel([...batchesOf(rows, batch)], width, (some) => this.#insertAll(some));
  }

  /** The two round trips that make a block canonical. */
  async commit(outcome: Outcome, asBatch: boolean): Promise<void> {
    const { bodies, link } = outcomeRows(outcome);
    const written = asBatch
      ? [this.#insertAll(bodies)]
      : bodies.map((row): Promise<unknown> => this.#insert(row));
    await Promise.all([...written, this.#insert(link)]);
    await this.moveHead(outcome.number, fromHex(outcome.hash));
  }

  /** The conditional update alone. */
  async moveHead(number: number, hash: Uint8Array): Promise<void> {
    const moved = await this.#client.execute(
      `UPDATE ${this.#keyspace}.chains SET seq = ?, head = ?, head_hash = ? WHERE chain = ? IF epoch = ? AND seq = ?`,
      [this.#seq + 1n, number, hash, CHAIN, EPOCH, this.#seq],
      { isIdempotent: false },
    );
    if (!moved.wasApplied()) throw new Error(`the head was not moved to ${number}`);
    this.#seq += 1n;
  }

  async state(keys: readonly SlotKey[], number: number): Promise<void> {
    await Promise.all(keys.map((key) => this.#valueOf(key, number)));
  }

  /** The same by the table without eras. */
  async flatState(keys: readonly SlotKey[], number: number): Promise<void> {
    await Promise.all(
      keys.map(async ({ address, slot }) => {
        const found = await this.#select(
          'value FROM state_flat WHERE copy = ? AND address = ? AND slot = ? AND number <= ? LIMIT 1',
          [COPY, address, slot, number],
        );
        if (found.length !== 1) throw new Error(`no value of a slot at ${number}`);
      }),
    );
  }

  /** Logs with a planted topic, of any address or of the hot one, up to the last block of the first era. */
  async logs(plant: number, ofHot: boolean): Promise<number> {
    const topic = plantedTopic(plant);
    // The rare lane is read to its end; of the hot one, the first page shows that it is longer.
    const [rare] = await Promise.all([
      this.#lane(2, topic),
      ...(ofHot ? [this.#lane(0, hotAddress, FIRST_PAGE)] : []),
    ]);
    const found: { number: number; index: number }[] = [];
    for (const row of rare) {
      const base = Number(row['first']) - (Number(row['first']) % CODEC_BLOCKS);
      const places: number[] = [];
      decodePlaces(row['places'] as Buffer, places);
      for (const place of places) {
        found.push({ number: base + Math.floor(place / maxLogsPerBlock), index: place % maxLogsPerBlock });
      }
    }
    const buckets = Map.groupBy(found, ({ number }) => canonicalBucket(number));
    const hashes = new Map<number, Buffer>();
    const [bodies] = await Promise.all([
      Promise.all(found.map((place) => this.#chunks(place.number, Math.floor(place.index / logsPerChunk)))),
      ...[...buckets].map(async ([bucket, places]) => {
        const rows = await this.#select(
          'number, hash FROM canonical WHERE copy = ? AND bucket = ? AND number IN ?',
          [COPY, bucket, places.map(({ number }) => number)],
        );
        for (const row of rows) hashes.set(Number(row['number']), row['hash'] as Buffer);
      }),
    ]);
    return found.filter(({ number, index }, at) => {
      const hash = hashes.get(number);
      const chunk = bodies[at]?.find((row) => hash?.equals(row['hash'] as Buffer));
      if (chunk === undefined) throw new Error(`no logs of block ${number}`);
      const log = new LogChunk(chunk['bytes'] as Buffer).log(index % logsPerChunk);
      return topic.equals(log.topics[1] ?? hotAddress) && (!ofHot || hotAddress.equals(log.address));
    }).length;
  }

  /** What a receipt needs: its place, then its block's hash, receipts and logs at once. */
  async receipt(hash: Uint8Array): Promise<void> {
    const [place] = await this.#select('number, place FROM transactions WHERE copy = ? AND hash = ?', [
      COPY,
      hash,
    ]);
    if (place === undefined) throw new Error('no such transaction');
    const number = Number(place['number']);
    const of = 'FROM bodies WHERE copy = ? AND number = ? AND kind = ?';
    const [canonical, receipts, logs] = await Promise.all([
      this.#select('hash FROM canonical WHERE copy = ? AND bucket = ? AND number = ?', [
        COPY,
        canonicalBucket(number),
        number,
      ]),
      this.#select(`part, hash, bytes ${of}`, [COPY, number, 'receipts']),
      this.#select(`part, hash, bytes ${of}`, [COPY, number, 'logs']),
    ]);
    if (canonical.length * receipts.length * logs.length === 0) throw new Error(`no block ${number}`);
  }

  /**
   * Has every table written to disk, and gives what each takes on the first node, with its indexes. Fails where files are not
   * compressed as the table says: what is flushed may have another compressor until it is compacted.
   */
  async tableBytes(): Promise<ReadonlyMap<string, number>> {
    const root = join(this.#cassandra.folder(0), 'data/data', this.#keyspace);
    const folders = await readdir(root);
    for (const folder of folders) {
      const table = `${this.#keyspace}.${folder.split('-')[0]}`;
      // There is no statement that flushes: a short period does it.
      await this.#client.execute(`ALTER TABLE ${table} WITH memtable_flush_period_in_ms = 1000`, [], {
        prepare: false,
      });
    }
    const sizes = async (): Promise<Map<string, number>> => {
      const all = new Map<string, number>();
      for (const folder of folders) {
        const files = await readdir(join(root, folder), { withFileTypes: true });
        const bytes = await Promise.all(
          files
            .filter((file) => file.isFile())
            .map((file) => stat(join(root, folder, file.name)).then(({ size }) => size)),
        );
        all.set(
          folder.split('-')[0] ?? folder,
          bytes.reduce((sum, size) => sum + size, 0),
        );
      }
      return all;
    };
    const checkCompression = async (folder: string): Promise<void> => {
      const names = (await readdir(join(root, folder))).filter((name) => name.endsWith('CompressionInfo.db'));
      for (const name of names) {
        const info = await readFile(join(root, folder, name), 'latin1');
        if (!info.includes(this.#compressor))
          throw new Error(`${folder}/${name} is not of ${this.#compressor}`);
      }
    };
    let previous = '';
    let since = performance.now();
    const settled = await until('tables to be on disk', async () => {
      const now = await sizes();
      const text = JSON.stringify([...now]);
      if (text !== previous) since = performance.now();
      previous = text;
      return performance.now() - since > SETTLED_MS ? now : undefined;
    });
    await Promise.all(folders.map(checkCompression));
    return settled;
  }

  async #valueOf({ address, slot }: SlotKey, number: number): Promise<Buffer> {
    const [newest, older] = await this.#select(
      'number, value FROM state_last WHERE copy = ? AND address = ? AND slot = ? AND era <= ? LIMIT 2',
      [COPY, address, slot, stateEra(number)],
    );
    if (newest !== undefined && Number(newest['number']) <= number) return newest['value'] as Buffer;
    const [within] = await this.#select(
      'value FROM state_history WHERE copy = ? AND address = ? AND slot = ? AND era = ? AND number <= ? LIMIT 1',
      [COPY, address, slot, stateEra(number), number],
    );
    const value = within ?? older;
    if (value === undefined) throw new Error(`no value of a slot at ${number}`);
    return value['value'] as Buffer;
  }

  #lane(position: number, value: Uint8Array, limit = 1_000_000): Promise<types.Row[]> {
    return this.#select(
      'first, places FROM postings WHERE copy = ? AND position = ? AND value = ? AND era = ? LIMIT ?',
      [COPY, position, value, postingEra(0), limit],
    );
  }

  #chunks(number: number, part: number): Promise<types.Row[]> {
    return this.#select(
      "hash, bytes FROM bodies WHERE copy = ? AND number = ? AND kind = 'logs' AND part = ?",
      [COPY, number, part],
    );
  }

  async #select(query: string, params: readonly unknown[]): Promise<types.Row[]> {
    const [columns = '', rest = ''] = query.split(' FROM ');
    const found = await this.#client.execute(`SELECT ${columns} FROM ${this.#keyspace}.${rest}`, [...params]);
    return found.rows;
  }

  #insert({ table, values }: Row): Promise<unknown> {
    return this.#client.execute(insertInto(this.#keyspace, table), [...values, ++this.#counter]);
  }

  #insertAll(rows: readonly Row[]): Promise<unknown> {
    return this.#client.batch(
      rows.map(({ table, values }) => ({
        query: insertInto(this.#keyspace, table),
        params: [...values, ++this.#counter],
      })),
      { logged: false },
    );
  }
}
