import { loadavg } from 'node:os';
import { openLmdbStore } from '../../src/store/lmdb/index.ts';
import { startCassandra } from '../../test/support/servers/fleet/cassandra.ts';
import { tempDir } from '../../test/support/servers/process.ts';
import { markdown, type Section } from '../report.ts';
import { Content, MATCHES } from './content.ts';
import { CqlTables } from './cql.ts';
import { lmdbPeer, type Peer, startUpstream } from './peers.ts';
import { measureReads, questionsOf } from './reads.ts';
import { BUCKET_BLOCKS } from './tables.ts';
import { describeTimes, figure, note } from './timing.ts';
import {
  BATCHED,
  BLOCK_MS,
  bucketsOf,
  compareModes,
  describeSizes,
  fillThin,
  SINGLE,
  sizesOf,
  writeFull,
} from './writes.ts';

const SEED = 20261117;
const PLANTS = 5;

/** The tables of a fleet in Cassandra, beside LMDB and an upstream. */
export async function stores({ quick }: { readonly quick: boolean }): Promise<Section> {
  const thin = quick ? 10_000 : 100_000;
  const repeats = quick ? 20 : 200;
  await using dir = await tempDir('bench-stores');
  await using stack = new AsyncDisposableStack();
  const content = new Content(SEED, thin, PLANTS);
  note('starting Cassandra');
  const cassandra = stack.use(
    await startCassandra({ nodes: 3, heapMiB: 1_024, optimised: true, timeoutMs: 20_000 }),
  );
  const cql = await CqlTables.create(cassandra, 'lz4', 'LZ4Compressor');
  stack.defer(() => cql.close());
  const lmdb = await openLmdbStore({ path: dir.path });
  stack.defer(() => lmdb.close());
  note(`filling ${thin} thin blocks`);
  await fillThin(content, lmdb, cql);
  note('writing full blocks');
  const full = [...content.fullBlocks(6 * BUCKET_BLOCKS)];
  const buckets = bucketsOf(full);
  const written = await writeFull(buckets, lmdb, cql);
  const modes = await compareModes(buckets.indexed.flat(), cql);
  note('writing one bucket by itself, for its size');
  const [sample = []] = buckets.indexed;
  const lz4 = await sizesOf(cassandra, 'sample_lz4', 'LZ4Compressor', sample);
  const zstd = await sizesOf(cassandra, 'sample_zstd', 'ZstdCompressor', sample);
  // Reads are to come from files.
  await cql.tableBytes();
  note('starting the upstream');
  const upstream = stack.use(await startUpstream());
  const planned: Peer = {
    ...{ name: 'CQL', state: cql.state.bind(cql), logs: cql.logs.bind(cql), receipt: cql.receipt.bind(cql) },
  };
  const peers = [planned, lmdbPeer(lmdb, thin - 1), upstream];
  const reads = await measureReads(peers, cql, questionsOf(buckets.indexed.flat()), {
    repeats,
    plants: PLANTS,
  });
  const perBucket = (BUCKET_BLOCKS * BLOCK_MS) / 1_000;
  const writes = markdown(
    ['writing a full block', 'p50 / p99, ms'],
    [
      ['LMDB, synced', describeTimes(written.lmdb)],
      ['outcome rows one by one, then the LWT', describeTimes(written.single)],
      ['outcome rows as one batch, then the LWT', describeTimes(written.batched)],
      ['the same every 200 ms, beside indexing', describeTimes(written.beside)],
      ['the LWT alone', describeTimes(written.head)],
    ],
  );
  const index = markdown(
    [
      `index of ${BUCKET_BLOCKS} blocks, which come in ${perBucket} s`,
      'seconds',
      'blocks/s',
      "client's CPU, s",
    ],
    (
      [
        [`batches of ${BATCHED.batch}, ${BATCHED.width} at a time`, written.indexByBatches],
        [`single inserts, ${SINGLE.width} at a time`, written.indexByRows],
        ['batches beside a block every 200 ms', written.indexBeside],
      ] as const
    ).map(([how, { seconds, ownCpu }]) => [
      how,
      figure(seconds),
      figure(BUCKET_BLOCKS / seconds),
      figure(ownCpu),
    ]),
  );
  return {
    name: 'stores',
    facts: [
      'Three nodes of Cassandra 5.0.6 with 1 GiB each, replication factor 3, LOCAL_QUORUM; LMDB with the same content; anvil over HTTP, which has as many matches in 100 blocks. All on one machine, with the client.',
      `Chain: ${thin.toLocaleString('en-US')} blocks with ${MATCHES} matches of each of ${PLANTS} topics, then ${full.length} blocks of 500 state writes, 300 logs and 60 transactions.`,
      `Reads come from files in the page cache, ${repeats} repeats (logs: half as many).`,
      `Load average at the end: ${figure(loadavg()[0] ?? 0)}.`,
    ],
    tables: [reads, writes, index, modes, describeSizes(sample, lz4, zstd)],
  };
}
