import { type Scene, say } from '../../support/checks.ts';
import { type FollowingNode, follow, total, untilHead } from '../../support/servers/our-node.ts';
import { tempDir, until } from '../../support/servers/process.ts';
import { LiveChain } from '../live-chain.ts';

const MAX_READS = 2_000;
/** An account is three calls: its nonce, its balance and its code. */
const CALLS_PER_READ = 3;
const CLIENTS = 4;
const FOLLOWED_MS = 1_000;
const CONTRACT = `0x${'aa'.padStart(40, '0')}`;

/** Asks for the balance of one account after another until its gas ends; each call for others. */
function greedyCall(seed: number, place: number): string {
  const first = (BigInt(seed) << 64n) + (BigInt(place) << 32n);
  const code = `0x7f${first.toString(16).padStart(64, '0')}5b600101803150602156`;
  const params = [{ to: CONTRACT }, 'latest', { [CONTRACT]: { code } }];
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params });
}

async function ask(node: FollowingNode, body: string, signal: AbortSignal): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(node.url, { method: 'POST', headers, body, signal });
  return response.text();
}

/** Clients have calls read all state they can: the chain is followed as before, and each call ends at its limit. */
export async function crowding({ checks, seed, full }: Scene): Promise<void> {
  await using chain = await LiveChain.start(seed, 5);
  await using data = await tempDir('crowding');
  await using ours = await follow({
    dataDir: data.path,
    upstreams: [chain.node.ws],
    rules: chain.node.genesisFile,
    more: ['--profile', `dedicated.stateReads=${MAX_READS}`],
  });
  await untilHead(ours, chain.head.hash);
  await chain.grow(3);
  await untilHead(ours, chain.head.hash);

  const callsBefore = await total(ours, 'chain_query_upstream_calls_total');
  const only = await ask(ours, greedyCall(seed, 0), new AbortController().signal);
  const calls = (await total(ours, 'chain_query_upstream_calls_total')) - callsBefore;
  say(`one call had ${calls} calls sent upstream and was answered ${only.slice(0, 160)}`);
  checks.check('a call that reads too much ends at its limit', /reads too much state.*2000/.test(only), only);
  checks.check('and has no more sent upstream', calls <= CALLS_PER_READ * MAX_READS + 100, calls);

  const gone = new AbortController();
  let asked = 0;
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!gone.signal.aborted) {
      await ask(ours, greedyCall(seed, ++asked), gone.signal).catch(() => '');
    }
  });
  const growBeside = async (blocks: number): Promise<boolean> => {
    const delays: number[] = [];
    for (let left = blocks; left > 0; left--) {
      await chain.grow(1);
      const started = performance.now();
      await untilHead(ours, chain.head.hash);
      delays.push(Math.round(performance.now() - started));
    }
    say(`${blocks} blocks beside ${asked} such calls were followed after ${delays.join(', ')} ms`);
    return Math.max(...delays) < FOLLOWED_MS;
  };
  const blocks = full ? 60 : 15;
  // What the clients do they do again; what the machine did meanwhile it does not.
  const areFollowed = (await growBeside(blocks)) || (await growBeside(blocks));
  gone.abort();
  await Promise.all(clients);
  checks.check('blocks are followed within a second', areFollowed);
  const isQuiet = async (): Promise<true | undefined> =>
    (await total(ours, 'chain_query_state_reads_in_flight')) === 0 ? true : undefined;
  const left = await until('reads to end with their requests', isQuiet, 2_000).catch(() => false);
  checks.check('reads end with their requests', left);
}
