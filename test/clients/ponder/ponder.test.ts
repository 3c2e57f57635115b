import { expect, it } from 'vitest';
import { follow, untilHead } from '../../support/servers/our-node.ts';
import { tempDir, until } from '../../support/servers/process.ts';
import { request } from '../../support/servers/rpc-client.ts';
import { type PonderApp, type Rows, startPonder } from './app.ts';
import { TokenChain } from './chain.ts';

/** More than ponder takes for final, so that some of it is read as history. */
const blocksBefore = 45;
const depths = [1, 3, 2, 6] as const;

/** Waits until an app has the chain up to its head, and gives what it has. */
function rowsAt(app: PonderApp, head: string): Promise<Rows> {
  const isThere = async (): Promise<Rows | undefined> => {
    const rows = await app.rows();
    return rows.blocks.at(-1)?.['hash'] === head ? rows : undefined;
  };
  return until('ponder to have the head', isThere, 40_000).catch((cause: unknown) => {
    throw new Error(`ponder has not the head: ${app.output().slice(-2_000)}`, { cause });
  });
}

it('ponder makes the same database from our node as from op-geth, through reorgs', async () => {
  await using chain = await TokenChain.start();
  await using data = await tempDir('ponder-node');
  const { url, genesisFile } = chain.node;
  await using ours = await follow({ dataDir: data.path, upstreams: [url], rules: genesisFile });
  await untilHead(ours, chain.head.hash);
  await chain.grow(blocksBefore);
  await untilHead(ours, chain.head.hash);
  await using apps = new AsyncDisposableStack();
  const starting = [ours.url, url].map(async (rpc) => apps.use(await startPonder(rpc, chain.token)));
  // One that fails to start must not leave the other behind.
  await Promise.allSettled(starting);
  const started = await Promise.all(starting);
  const everybody = (): Promise<readonly Rows[]> =>
    Promise.all(started.map((app) => rowsAt(app, chain.head.hash)));
  for (const depth of depths) {
    await chain.grow(depth);
    // So both have the blocks in their database that are taken back next.
    await everybody();
    await chain.reorg(depth);
  }
  const [one, other] = await everybody();
  expect(one).toEqual(other);
  // Both may be wrong.
  const filter = { address: chain.token, fromBlock: '0x0', toBlock: 'latest' };
  const logs = await request<{ blockHash: string; transactionHash: string }[]>(url, 'eth_getLogs', [filter]);
  expect(one?.transfers.map(({ blockHash, hash }) => [blockHash, hash])).toEqual(
    logs.map(({ blockHash, transactionHash }) => [blockHash, transactionHash]),
  );
  expect(one?.blocks).toHaveLength(chain.head.number);
}, 240_000);
