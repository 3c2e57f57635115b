// A chain that forks in mid-run to rules that our node was not told, and that it follows by state diffs.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Hex } from 'viem';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type LyingProxy, startLyingProxy } from '../support/lies/proxy.ts';
import { startChain, type WorkloadChain } from '../support/servers/chains.ts';
import { type TempDir, tempDir, until } from '../support/servers/process.ts';
import { request, sendBatchNoting } from '../support/servers/rpc-client.ts';
import { get, runProgram, type Serving, startServing } from '../support/servers/serving.ts';
import { devChainId, owner } from '../support/workload/token.ts';

const P256_VERIFY: Hex = `0x${'0'.repeat(37)}100`;
const PATIENCE_MS = 60_000;

interface Ready {
  readonly ready: boolean;
  readonly reasons?: readonly { readonly reason: string; readonly detail: string }[];
  readonly warnings?: readonly string[];
  readonly head: { readonly number: number; readonly hash: Hex };
}

let dir: TempDir;
let chain: WorkloadChain;
/** It has no eth_config, so that a block is refused before the fork is known. */
let proxy: LyingProxy;
let node: Serving | undefined;
/** The first block that the rules before the fork refuse. */
let refused: number;

async function serve(rulesFile: string, ...more: readonly string[]): Promise<Serving> {
  const pace = ['--upstream-poll-ms', '100', '--finality-ms', '500', '--threads', '1', '--log-level', 'info'];
  const args = [
    ...['--upstream', proxy.url, '--chain', rulesFile, '--refused-after', '2s'],
    ...['--store-map-size', '1GiB', ...pace, ...more],
  ];
  node = await startServing(join(dir.path, 'data'), { args });
  return node;
}

/** Sends to an address, in a block of its own. */
async function send(to: Hex): Promise<number> {
  const nonce = Number(await request<Hex>(chain.url, 'eth_getTransactionCount', [owner.address, 'latest']));
  const fees = { gas: 100_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n } as const;
  const signed = await owner.signTransaction({
    ...{ ...fees, chainId: devChainId, type: 'eip1559', to, data: '0x00', nonce },
  });
  await chain.mine({ deposits: [], transactions: [signed] });
  return Number(await request<Hex>(chain.url, 'eth_blockNumber'));
}

const readiness = async (of: Serving): Promise<Ready> =>
  JSON.parse((await get(`${of.adminUrl}/readyz`)).text) as Ready;

const ready = (of: Serving, from: number): Promise<Ready> =>
  until(
    `the node to be ready at block ${from}`,
    async () => {
      const now = await readiness(of);
      return now.ready && now.head.number >= from ? now : undefined;
    },
    PATIENCE_MS,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${of.running.output().slice(-3_000)}`);
  });

/** From which block on the node follows by state diffs, as its metrics say; 0 when it executes all. */
async function byDiffsFrom(of: Serving): Promise<number> {
  const { text } = await get(`${of.adminUrl}/metrics`);
  return Number(/^chain_query_by_diffs_from_block (\d+)$/m.exec(text)?.[1]);
}

/** The nonce and a call at a block, equal to the upstream's, and who answered the call. */
async function sourceAt(of: Serving, number: number): Promise<string | null> {
  const block = `0x${number.toString(16)}`;
  const calls = [
    { method: 'eth_getTransactionCount', params: [owner.address, block] },
    { method: 'eth_call', params: [{ to: P256_VERIFY, gas: '0x100000', data: '0x00' }, block] },
  ];
  const [ours, theirs] = await Promise.all(
    [of.publicUrl, chain.url].map((url) => sendBatchNoting(url, calls)),
  );
  expect(ours?.answers).toEqual(theirs?.answers);
  return ours?.headers.get('x-chain-source') ?? null;
}

beforeAll(async () => {
  dir = await tempDir('follow-by-diffs');
  chain = await startChain('geth', { debug: true, forkAfter: 0 });
  proxy = await startLyingProxy(chain.url);
  proxy.lacks.add('eth_config');
  for (let count = 0; count < 3; count++) await send(owner.address);
});
afterAll(async () => {
  await node?.[Symbol.asyncDispose]();
  await proxy?.[Symbol.asyncDispose]();
  await chain?.[Symbol.asyncDispose]();
  await dir?.[Symbol.asyncDispose]();
});

it('goes on by state diffs from a block of the chain that its rules refuse, and says so (B16, B17)', async () => {
  const ours = await serve(chain.rulesFile, '--unknown-fork', 'follow-by-diffs');
  await send(owner.address);
  // A precompile that only one of the two rules has.
  refused = await send(P256_VERIFY);
  const head = await send(owner.address);
  const { warnings = [] } = await ready(ours, head);
  expect(warnings.join('\n')).toMatch(new RegExp(`rulesTooOld: block ${refused} 0x[0-9a-f]{64} is part of`));
  expect(await byDiffsFrom(ours)).toBe(refused);
  const { text } = await get(`${ours.adminUrl}/metrics`);
  expect(text).toMatch(/^chain_query_rules_too_old 1$/m);
  expect(text).not.toMatch(/^chain_query_upstream_lies_total\{.*\} [1-9]/m);
  expect(await sourceAt(ours, refused)).toBe('upstream');
  expect(await sourceAt(ours, head)).toBe('upstream');
  expect(await sourceAt(ours, refused - 1)).toBeNull();
});

it('knows after a start from which block on, and has doctor warn (B16)', async () => {
  await node?.[Symbol.asyncDispose]();
  const off = ['--public', 'off', '--dedicated', 'off', '--admin', 'off'];
  const upstream = ['--upstream', proxy.url, '--chain', chain.rulesFile];
  const doctor = await runProgram([
    ...['doctor', '--data', join(dir.path, 'data'), ...upstream, ...off],
    ...['--unknown-fork', 'follow-by-diffs'],
  ]);
  expect(doctor.output).toMatch(/warn +rulesTooOld +block \d+ 0x[0-9a-f]+ /);
  expect(doctor.output).toMatch(/ok +state diffs +offered, for --unknown-fork follow-by-diffs/);
  const ours = await serve(chain.rulesFile, '--unknown-fork', 'follow-by-diffs');
  const head = await send(owner.address);
  await ready(ours, head);
  expect(await byDiffsFrom(ours)).toBe(refused);
  expect(await sourceAt(ours, head)).toBe('upstream');
});

it('executes those blocks once it is started with the rules (B16)', async () => {
  await node?.[Symbol.asyncDispose]();
  const osaka = join(dir.path, 'osaka.json');
  await writeFile(osaka, JSON.stringify(chain.rulesOfFork));
  const ours = await serve(osaka, '--unknown-fork', 'follow-by-diffs');
  const head = await send(P256_VERIFY);
  const { warnings } = await ready(ours, head);
  expect(warnings).toBeUndefined();
  expect(await byDiffsFrom(ours)).toBe(0);
  for (const number of [refused, head]) expect(await sourceAt(ours, number)).toBeNull();
  expect(ours.running.output()).toContain('followed by state diffs are taken off');
});
