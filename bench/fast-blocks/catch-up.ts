import { follow, total, untilHead } from '../../test/support/servers/our-node.ts';
import { tempDir } from '../../test/support/servers/process.ts';
import { type BlockShape, BusyChain } from '../live-chain.ts';
import { markdown } from '../report.ts';

interface Row {
  readonly title: string;
  readonly shape: BlockShape;
  readonly blocks: number;
  readonly aim: string;
}

const headings = [
  ...['catching up, state known', 'blocks', 'Mgas a block', 'seconds', 'blocks/s', 'Mgas/s', 'aim'],
  ...['executing, Mgas/s', 'requests a block', 'rounds a block'],
];

/** From an answering node to the head of the chain, for blocks of several kinds that touch what the node knows. */
export async function measureCatchUp(
  quick: boolean,
): Promise<{ readonly table: string; readonly failures: readonly string[] }> {
  const rows: readonly Row[] = [
    {
      // About as much gas a log as on Ethereum and Base.
      title: 'mixed: 60 transfers, 2 calls of 100 writes and logs, 4 that compute',
      shape: { calls: 2, transfers: 60, spins: 4 },
      blocks: quick ? 16 : 96,
      aim: '≥ 250 Mgas/s',
    },
    {
      title: 'logs: 30 calls of 100 writes and logs',
      shape: { calls: 30, transfers: 8 },
      blocks: quick ? 16 : 96,
      aim: '≥ 250 Mgas/s',
    },
    {
      title: 'transfers: 300 token transfers',
      shape: { calls: 0, transfers: 300 },
      blocks: quick ? 8 : 48,
      aim: '≥ 250 Mgas/s',
    },
    {
      title: 'small: 4 token transfers',
      shape: { calls: 0, transfers: 4 },
      blocks: quick ? 64 : 256,
      aim: '≥ 25 blocks/s',
    },
  ];
  // A downtime of more than 128 blocks: an ordinary node would no longer have what the start of each block writes.
  await using chain = await BusyChain.start({ archive: true });
  await using data = await tempDir('fast-catch-up');
  const start = (): ReturnType<typeof follow> =>
    follow({
      dataDir: data.path,
      upstreams: [chain.node.ws],
      rules: chain.node.genesisFile,
      more: ['--anchor', '1', '--finality-ms', '3600000'],
    });
  // All that the blocks touch: the node has read it before it is stopped for the first time.
  for (const { shape } of rows) await chain.grow(2, 'known', shape);
  {
    await using ours = await start();
    await untilHead(ours, chain.head.hash);
  }
  const failures: string[] = [];
  const cells: string[][] = [];
  for (const { title, shape, blocks, aim } of rows) {
    await chain.grow(blocks, 'known', shape);
    await using ours = await start();
    const of = (name: string): Promise<number> => total(ours, `chain_query_${name}`);
    const early = await of('executed_gas_total');
    const started = performance.now();
    await untilHead(ours, chain.head.hash, 120_000);
    const seconds = (performance.now() - started) / 1000;
    const executed = await of('executed_blocks_total');
    if (executed !== blocks) failures.push(`${title}: ${executed} blocks were executed, not ${blocks}`);
    const mgas = (await of('executed_gas_total')) / 1e6;
    const share = 1 - early / 1e6 / mgas;
    cells.push([
      ...[title, String(blocks), (mgas / blocks).toFixed(1), seconds.toFixed(2)],
      ...[((blocks * share) / seconds).toFixed(0), ((mgas * share) / seconds).toFixed(0), aim],
      (mgas / (await of('block_execution_seconds_sum'))).toFixed(0),
      ((await of('upstream_requests_total')) / blocks).toFixed(2),
      ((await of('execution_rounds_total')) / blocks).toFixed(2),
    ]);
    console.log(`${cells.at(-1)?.join(' | ')}; ${(100 - share * 100).toFixed(0)} % before it answered`);
  }
  return { table: markdown(headings, cells), failures };
}
