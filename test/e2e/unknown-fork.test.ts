// A chain that forks in mid-run to rules that our node was not told: geth goes from Prague to Osaka.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Hex } from 'viem';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type LyingProxy, startLyingProxy } from '../support/lies/proxy.ts';
import { type Geth, startForkingGeth } from '../support/servers/geth.ts';
import { type TempDir, tempDir, until } from '../support/servers/process.ts';
import { request } from '../support/servers/rpc-client.ts';
import { get, runProgram, type Serving, startServing } from '../support/servers/serving.ts';
import { devChainId, owner } from '../support/workload/token.ts';

/** All three nodes are at the head by then. */
const FORK_AFTER_SECONDS = 30;
const BPO_AFTER_SECONDS = 35;
const PATIENCE_MS = 40_000;
const P256_VERIFY: Hex = `0x${'0'.repeat(37)}100`;

const prague = {
  ...{ chainId: devChainId, homesteadBlock: 0, eip150Block: 0, eip155Block: 0, eip158Block: 0 },
  ...{ byzantiumBlock: 0, constantinopleBlock: 0, petersburgBlock: 0, istanbulBlock: 0, muirGlacierBlock: 0 },
  ...{ berlinBlock: 0, londonBlock: 0, arrowGlacierBlock: 0, grayGlacierBlock: 0 },
  ...{ terminalTotalDifficulty: 0, mergeNetsplitBlock: 0, shanghaiTime: 0, cancunTime: 0, pragueTime: 0 },
  blobSchedule: {
    cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
    prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
    osaka: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
  },
};

interface Ready {
  readonly ready: boolean;
  readonly reasons?: readonly { readonly reason: string; readonly detail: string }[];
  readonly warnings?: readonly string[];
  readonly head: { readonly number: number; readonly hash: Hex };
}

let dir: TempDir;
let geth: Geth;
let osakaTime: number;
let proxies: readonly LyingProxy[];
/** `told`: its upstream says of the fork. `alone` and `both`: nobody does, one upstream and two. */
let nodes: Readonly<Record<'told' | 'alone' | 'both', Serving>>;
const started: Serving[] = [];

const fileOf = (name: string): string => join(dir.path, `${name}.json`);

async function serve(name: string, rules: string, upstreams: readonly string[]): Promise<Serving> {
  const pace = ['--upstream-poll-ms', '100', '--finality-ms', '500', '--threads', '1', '--log-level', 'info'];
  const urls = upstreams.flatMap((url) => ['--upstream', url]);
  const args = [
    ...urls,
    '--chain',
    fileOf(rules),
    '--refused-after',
    '4s',
    '--store-map-size',
    '1GiB',
    ...pace,
  ];
  const node = await startServing(join(dir.path, name), { args });
  started.push(node);
  return node;
}

beforeAll(async () => {
  dir = await tempDir('unknown-fork');
  osakaTime = Math.floor(Date.now() / 1_000) + FORK_AFTER_SECONDS;
  const bpo1Time = osakaTime + BPO_AFTER_SECONDS;
  const osaka = { ...prague, osakaTime };
  // Of the two forks to come, the second changes nothing but blob parameters.
  const bpo1 = { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193 };
  const config = { ...osaka, bpo1Time, blobSchedule: { ...prague.blobSchedule, bpo1 } };
  await writeFile(fileOf('prague'), JSON.stringify({ config: prague }));
  await writeFile(fileOf('osaka'), JSON.stringify({ config: osaka }));
  const alloc = { [owner.address]: { balance: '0xffffffffffffffffffff' } };
  geth = await startForkingGeth({ config, difficulty: '0x0', gasLimit: '0x1c9c380', alloc });
  proxies = await Promise.all([geth, geth, geth].map(({ url }) => startLyingProxy(url)));
  for (const proxy of proxies) proxy.lacks.add('eth_config');
  const [first = '', ...others] = proxies.map(({ url }) => url);
  const [told, alone, both] = await Promise.all([
    serve('told', 'prague', [geth.url]),
    serve('alone', 'prague', [first]),
    serve('both', 'prague', others),
  ]);
  nodes = { told, alone, both };
});
afterAll(async () => {
  for (const node of started) await node[Symbol.asyncDispose]();
  for (const proxy of proxies ?? []) await proxy[Symbol.asyncDispose]();
  await geth?.stop();
  await dir?.[Symbol.asyncDispose]();
});

async function readiness(node: Serving): Promise<Ready> {
  return JSON.parse((await get(`${node.adminUrl}/readyz`)).text) as Ready;
}

const isTooOld = (node: Serving): Promise<Ready> =>
  until(
    '/readyz to say that the rules are too old',
    async () => {
      const now = await readiness(node);
      return now.reasons?.some(({ reason }) => reason === 'rulesTooOld') ? now : undefined;
    },
    PATIENCE_MS,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${node.running.output().slice(-3_000)}`);
  });

const detailOf = ({ reasons = [] }: Ready): string =>
  reasons.find(({ reason }) => reason === 'rulesTooOld')?.detail ?? '';

async function timeOf(block: string): Promise<number> {
  const { timestamp } = await request<{ timestamp: Hex }>(geth.url, 'eth_getBlockByNumber', [block, false]);
  return Number(timestamp);
}

/** What holds of every node whose rules are too old. */
async function expectHonest(node: Serving): Promise<void> {
  const metrics = (await get(`${node.adminUrl}/metrics`)).text;
  expect(metrics).toMatch(/^chain_query_rules_too_old 1$/m);
  expect(metrics).not.toMatch(/^chain_query_upstream_lies_total\{.*\} [1-9]/m);
  expect(node.running.output()).not.toContain('an upstream lied');
  // What it has verified is served on.
  const { head } = await readiness(node);
  const number = `0x${head.number.toString(16)}` as const;
  const params = [owner.address, number];
  const [ours, theirs] = await Promise.all(
    [node.publicUrl, geth.url].map((url) => request(url, 'eth_getTransactionCount', params)),
  );
  expect(ours).toBe(theirs);
  expect(await request(node.publicUrl, 'eth_blockNumber')).toBe(number);
}

it('is warned of a fork that is to come, and goes on until then (B16)', async () => {
  const { warnings = [], ready } = await until('the warning', async () => {
    const now = await readiness(nodes.told);
    return now.ready && now.warnings !== undefined ? now : undefined;
  });
  expect(ready).toBe(true);
  expect(warnings.join()).toMatch(
    new RegExp(`has a fork \\(id 0x[0-9a-f]{8}\\) at time ${osakaTime} .*--chain`),
  );
  expect(await timeOf('latest'), 'the fork came before the test').toBeLessThan(osakaTime);
  // Without eth_config it is not known, and said once.
  const said = (): number =>
    nodes.alone.running.output().split('does not say what forks it knows').length - 1;
  await until('it to be said', () => said() > 0 || undefined);
  expect(said()).toBe(1);
  expect((await readiness(nodes.alone)).warnings).toBeUndefined();
});

it('stops at the time that its upstream says, before any block is refused (B16)', async () => {
  const state = await isTooOld(nodes.told);
  expect(detailOf(state)).toMatch(new RegExp(`a fork \\(id 0x[0-9a-f]{8}\\) at time ${osakaTime} .*upgrade`));
  // The last one before the fork.
  expect(await timeOf(`0x${state.head.number.toString(16)}`)).toBeLessThan(osakaTime);
  expect(await timeOf(`0x${(state.head.number + 1).toString(16)}`)).toBeGreaterThanOrEqual(osakaTime);
  await expectHonest(nodes.told);
});

it('takes a block that its rules refuse for the chain, once another upstream has it or it was built on for long (B16)', async () => {
  // Empty blocks are the same under both rules; a precompile that only one of them has is not.
  const nonce = Number(await request<Hex>(geth.url, 'eth_getTransactionCount', [owner.address, 'latest']));
  const fees = { gas: 100_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n } as const;
  const signed = await owner.signTransaction({
    ...{ ...fees, chainId: devChainId, type: 'eip1559', to: P256_VERIFY, data: '0x00', nonce },
  });
  const hash = await request<Hex>(geth.url, 'eth_sendRawTransaction', [signed]);
  const { blockNumber } = await until(
    'the transaction to be mined',
    async () =>
      (await request<{ blockNumber: Hex } | null>(geth.url, 'eth_getTransactionReceipt', [hash])) ??
      undefined,
  );
  const refused = Number(blockNumber);
  const states = await Promise.all([nodes.alone, nodes.both].map(isTooOld));
  for (const state of states) {
    expect(state.head.number).toBe(refused - 1);
    expect(detailOf(state)).toMatch(
      new RegExp(`block ${refused} 0x[0-9a-f]{64} is part of the chain, and is refused .*upgrade`),
    );
  }
  for (const node of [nodes.alone, nodes.both]) await expectHonest(node);
});

it('has doctor say so, from what upstreams say and from what the node found (B16)', async () => {
  const off = ['--public', 'off', '--dedicated', 'off', '--admin', 'off'];
  const [told, alone] = await Promise.all([
    runProgram(['doctor', '--upstream', geth.url, '--chain', fileOf('prague'), ...off]),
    runProgram(['doctor', '--data', join(dir.path, 'alone'), ...off]),
  ]);
  expect(told.output).toMatch(/fail +rulesTooOld +it has a fork \(id 0x/);
  expect(alone.output).toMatch(/fail +rulesTooOld +block \d+ 0x[0-9a-f]+ is part of the chain/);
  for (const { code } of [told, alone]) expect(code).toBe(3);
});

it('goes on after a start with the rules, from where it was, and adopts a change of blob parameters (B16)', async () => {
  for (const [name, node] of Object.entries(nodes)) {
    const { head } = await readiness(node);
    await node[Symbol.asyncDispose]();
    await using again = await serve(name, 'osaka', [geth.url]);
    await until('the node to follow past the fork', async () => {
      const now = await readiness(again);
      return now.ready && now.head.number > head.number + 1 ? true : undefined;
    });
    const metrics = (await get(`${again.adminUrl}/metrics`)).text;
    expect(metrics).toMatch(/^chain_query_rules_too_old 0$/m);
    expect(again.running.output()).not.toContain('a new copy begins');
    if (name !== 'both') continue;
    await until('blob parameters to be adopted', async () =>
      again.running.output().includes('blob parameters that were not known here are adopted') &&
      (await readiness(again)).warnings === undefined
        ? true
        : undefined,
    );
    // It goes on when they are in force.
    await until('the node to follow past that, too', async () => {
      const now = await readiness(again);
      const time = await timeOf(`0x${now.head.number.toString(16)}`);
      return now.ready && time > osakaTime + BPO_AFTER_SECONDS ? true : undefined;
    });
  }
  const doctor = await runProgram(['doctor', '--data', join(dir.path, 'alone')]);
  expect(doctor.output).not.toContain('rulesTooOld');
});
