import { type Scene, say, seconds } from '../../support/checks.ts';
import { follow, total, untilHead } from '../../support/servers/our-node.ts';
import { tempDir } from '../../support/servers/process.ts';
import { request } from '../../support/servers/rpc-client.ts';
import { AnvilChain } from '../anvil-chain.ts';

/** Final blocks are so far below that they do not matter. */
const EPOCH = 5_000;
const TRANSFERS = 6;

/** A fork that parts from ours deeper than memory reaches, as 200 ms blocks have it after a minute: undone from the store. */
export async function deepReorg({ checks, full }: Scene): Promise<void> {
  const [hotWindow, depth] = full ? [256, 600] : [16, 60];
  await using chain = await AnvilChain.start(EPOCH);
  await using data = await tempDir('deep-reorg');
  const { number: first } = await chain.mine(10);
  await using ours = await follow({
    ...{ dataDir: data.path, rules: 'anvil', upstreams: [chain.url] },
    more: ['--hot-window', String(hotWindow), '--reanchor=off'],
  });
  const grow = async (blocks: number): Promise<void> => {
    for (let left = TRANSFERS; left > 0; left -= 1) {
      await chain.mine(Math.floor(blocks / TRANSFERS) - 1);
      await chain.mineTransfer();
    }
    await untilHead(ours, (await chain.head()).hash, 60_000);
  };
  await grow(30);
  const base = await chain.head();
  const snapshot = await chain.snapshot();
  await grow(depth);
  const [from] = await request<readonly string[]>(chain.url, 'eth_accounts');
  const nonce = (url: string): Promise<string> => request(url, 'eth_getTransactionCount', [from, 'latest']);
  checks.check('ours follows', (await nonce(ours.url)) === (await nonce(chain.url)), await nonce(ours.url));
  await chain.revert(snapshot);
  await chain.fork(1);
  const began = performance.now();
  await chain.mine(depth);
  const { hash } = await chain.mineTransfer();
  await untilHead(ours, hash, 60_000);
  say(
    `${depth} blocks for ${depth + 1}, with ${hotWindow} in memory: on the new fork after ${seconds(began)}`,
  );
  const [own, theirs] = [await nonce(ours.url), await nonce(chain.url)];
  checks.check('the state is that of the fork', own === theirs, `${own}, ${theirs}`);
  const receipts = await request<unknown>(ours.url, 'eth_getBlockReceipts', [`0x${first.toString(16)}`]);
  checks.check('what is below the fork is still held', receipts !== null, receipts);
  const shared = await request<unknown>(ours.url, 'eth_getBlockReceipts', [base.hash]);
  checks.check('the common block is still ours', shared !== null, shared);
  const counted = await total(ours, 'chain_query_reorganisations_total');
  checks.check('it counts as one reorg', counted === 1, counted);
}
