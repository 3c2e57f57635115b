// Rules that were wrong at the first start: they are not kept, and the next start can name others.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CHAINS } from '../../src/rules/chains.ts';
import { type DevGeth, startDevGeth } from '../support/servers/geth.ts';
import { type TempDir, tempDir, until } from '../support/servers/process.ts';
import { request } from '../support/servers/rpc-client.ts';
import { get, runProgram, startServing } from '../support/servers/serving.ts';
import { makeToken } from '../support/workload/token.ts';

let geth: DevGeth;
let dir: TempDir;
beforeAll(async () => {
  geth = await startDevGeth();
  dir = await tempDir('rules');
});
afterAll(async () => {
  await geth?.stop();
  await dir?.[Symbol.asyncDispose]();
});

const quick = ['--finality-ms', '200', '--upstream-poll-ms', '50', '--threads', '1'] as const;

function serve(data: string, chain: string) {
  const args = ['--upstream', geth.url, '--store-map-size', '1GiB', ...quick, '--chain', chain];
  return startServing(data, { args });
}

async function expectFollowed(url: string): Promise<void> {
  const head = await request<string>(geth.url, 'eth_blockNumber');
  await until('the node to follow', async () =>
    (await request<string>(url, 'eth_blockNumber')) === head ? true : undefined,
  );
}

it.each([
  ['of another chain', 'anvil', 'is of chain 1337, and this copy is of chain 31337'],
  ['of a file that is not there', './absent.json', '--chain: there is no file ./absent.json'],
  ['that nobody knows', 'geth-dve', 'no chain is known by the name "geth-dve"'],
])('are corrected after rules %s', async (_, wrong, words) => {
  const data = join(dir.path, wrong);
  const args = ['serve', '--data', data, '--upstream', geth.url, '--store-map-size', '1GiB'];
  const off = ['--public', 'off', '--dedicated', 'off', '--admin', 'off'];
  const refused = await runProgram([...args, ...off, '--chain', wrong]);
  // A line of JSON: quotes are escaped.
  expect(refused.output.replaceAll('\\"', '"')).toContain(words);
  expect(refused.code).toBe(1);
  await using node = await serve(data, 'geth-dev');
  await makeToken(geth.url, 1, 1);
  await expectFollowed(node.publicUrl);
});

it('stop before a fork that is not known, and are refused after it', async () => {
  const block = await request<{ readonly timestamp: string }>(geth.url, 'eth_getBlockByNumber', [
    'latest',
    false,
  ]);
  const at = Number(block.timestamp);
  const file = async (name: string, forks: object): Promise<string> => {
    const path = join(dir.path, name);
    const row = CHAINS.find((chain) => chain.name === 'geth-dev');
    await writeFile(path, JSON.stringify({ config: { ...row?.config, ...forks } }));
    return path;
  };
  {
    const chain = await file('ahead.json', { someNewForkTime: at + 100_000_000 });
    await using node = await serve(join(dir.path, 'ahead'), chain);
    expect(node.running.output()).toContain('someNewForkTime, from time');
    await expectFollowed(node.publicUrl);
  }
  const args = [
    'serve',
    '--data',
    join(dir.path, 'below'),
    '--upstream',
    geth.url,
    '--store-map-size',
    '1GiB',
  ];
  const off = ['--public', 'off', '--dedicated', 'off', '--admin', 'off'];
  const below = await file('below.json', { someNewForkTime: at });
  const refused = await runProgram([...args, ...off, '--chain', below]);
  expect(refused.output).toMatch(
    /fork someNewForkTime, which begins at time \d+ and whose rules this version does not know/,
  );
  expect(refused.code).toBe(1);
});

it('are corrected after rules of the right chain id that do not fit its blocks, and kept from then on', async () => {
  const data = join(dir.path, 'same-id');
  const wrong = join(dir.path, 'wrong.json');
  const config = {
    ...{ chainId: 1337, homesteadBlock: 0, eip150Block: 0, eip155Block: 0, eip158Block: 0 },
    ...{ byzantiumBlock: 0, constantinopleBlock: 0, petersburgBlock: 0, istanbulBlock: 0, berlinBlock: 0 },
    ...{ londonBlock: 0, terminalTotalDifficulty: 0 },
  };
  await writeFile(wrong, JSON.stringify({ config }));
  {
    await using node = await serve(data, wrong);
    await makeToken(geth.url, 1, 1);
    const ready = await until('the node to be in trouble', async () => {
      const { status, text } = await get(`${node.adminUrl}/readyz`);
      return status === 503 ? text : undefined;
    });
    expect(ready).toContain('confirmed lag');
  }
  const beside = await runProgram(['backfill', '--data', data, '--upstream', geth.url]);
  expect(beside.output).toContain('no block has been verified under its rules yet: follow it with serve');
  {
    await using node = await serve(data, 'geth-dev');
    await expectFollowed(node.publicUrl);
  }
  const off = ['--public', 'off', '--dedicated', 'off', '--admin', 'off'];
  const other = await runProgram([
    'serve',
    '--data',
    data,
    '--upstream',
    geth.url,
    '--chain',
    'base',
    ...off,
  ]);
  expect(other.output).toContain('--chain is of chain 8453, and the copy in');
  // Without --chain, and without upstreams: as they were proven.
  await using node = await startServing(data, { args: ['--store-map-size', '1GiB'] });
  await expectFollowed(node.publicUrl);
});
