import { follow, total, untilHead } from '../test/support/servers/our-node.ts';
import type { BusyChain } from './live-chain.ts';
import { markdown } from './report.ts';

const headings = [
  'catching up',
  'blocks',
  'Mgas a block',
  'seconds',
  'blocks/s',
  'Mgas/s',
  'executing, Mgas/s',
  'requests a block',
  'calls a block',
  'rounds a block',
];

/**
 * From an answering node to the head of the chain: first from a copy that is one block old and knows no state, then,
 * after a downtime, with blocks that touch what is known.
 */
export async function catchUp(chain: BusyChain, dataDir: string, blocks: number): Promise<string> {
  const rows: string[][] = [];
  for (const slots of ['fresh', 'known'] as const) {
    await chain.grow(blocks, slots);
    await using ours = await follow({
      dataDir,
      upstreams: [chain.node.ws],
      rules: chain.node.genesisFile,
      more: ['--anchor', '1', '--finality-ms', '3600000'],
    });
    const started = performance.now();
    await untilHead(ours, chain.head.hash, 120_000);
    const seconds = (performance.now() - started) / 1000;
    const of = (name: string): Promise<number> => total(ours, `chain_query_${name}`);
    const executed = await of('executed_blocks_total');
    if (executed !== blocks) throw new Error(`${executed} blocks were executed, not ${blocks}`);
    const mgas = (await of('executed_gas_total')) / 1e6;
    rows.push([
      slots === 'fresh' ? 'no state known, 400 new slots a block' : 'after a downtime, slots known',
      String(blocks),
      (mgas / blocks).toFixed(1),
      seconds.toFixed(2),
      (blocks / seconds).toFixed(0),
      (mgas / seconds).toFixed(0),
      (mgas / (await of('block_execution_seconds_sum'))).toFixed(0),
      ((await of('upstream_requests_total')) / blocks).toFixed(2),
      ((await of('upstream_calls_total')) / blocks).toFixed(1),
      ((await of('execution_rounds_total')) / blocks).toFixed(2),
    ]);
  }
  return markdown(headings, rows);
}
