// A disk that fills up under a node that follows: it serves on, says what is wrong, and goes on when there is room.
import { execFileSync } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DevGeth, startDevGeth } from '../support/servers/geth.ts';
import { type TempDir, tempDir, until } from '../support/servers/process.ts';
import { request } from '../support/servers/rpc-client.ts';
import { get, startServing } from '../support/servers/serving.ts';
import { makeToken } from '../support/workload/token.ts';

let geth: DevGeth;
let dir: TempDir;
beforeAll(async () => {
  geth = await startDevGeth();
  dir = await tempDir('disk');
});
afterAll(async () => {
  await geth?.stop();
  await dir?.[Symbol.asyncDispose]();
});

const quick = ['--finality-ms', '100', '--upstream-poll-ms', '50', '--pin-delay-ms', '50'] as const;

it('is said in /readyz and in the log, while all that is held is served', { timeout: 150_000 }, async () => {
  const data = join(dir.path, 'data');
  const args = ['--upstream', geth.url, '--store-map-size', '1GiB', '--threads', '1', ...quick];
  await using node = await startServing(data, { args });
  const numberAt = async (url: string) => Number(await request<string>(url, 'eth_blockNumber'));
  const caughtUp = () =>
    until('the node to follow', async () =>
      (await numberAt(node.publicUrl)) === (await numberAt(geth.url)) ? true : undefined,
    );
  await makeToken(geth.url, 2, 1);
  await caughtUp();
  const limit = (bytes: number | 'unlimited') =>
    execFileSync('prlimit', ['--pid', String(node.running.pid), `--fsize=${bytes}:`]);
  // No page more than there is: to the program, a full disk.
  limit((await stat(join(data, 'data.mdb'))).size);
  const trouble = await until('the disk to be full', async () => {
    await makeToken(geth.url, 1, 20);
    const { status, text } = await get(`${node.adminUrl}/readyz`);
    return status === 503 && text.includes('"store"') ? text : undefined;
  });
  expect(JSON.parse(trouble)).toMatchObject({
    ready: false,
    reasons: expect.arrayContaining([
      { reason: 'store', detail: expect.stringContaining(`${data} cannot be written: `) },
    ]),
  });
  const held = await numberAt(node.publicUrl);
  expect(held).toBeLessThan(await numberAt(geth.url));
  const block = `0x${held.toString(16)}`;
  const logs = [{ fromBlock: block, toBlock: block }];
  expect(await request(node.publicUrl, 'eth_getLogs', logs)).toEqual(
    await request(geth.url, 'eth_getLogs', logs),
  );
  expect((await get(`${node.adminUrl}/metrics`)).text).toContain('chain_query_store_writable 0');
  limit('unlimited');
  await caughtUp();
  await until('the node to be ready', async () =>
    (await get(`${node.adminUrl}/readyz`)).status === 200 ? true : undefined,
  );
  // LMDB writes lines of its own when a write fails; with --disk-reserve it does not come to that.
  const lines = node.running.output().trim().split('\n');
  const ours = lines.filter((line) => line !== '' && !line.startsWith('Write error: '));
  const said = ours.map((line) => (JSON.parse(line) as { readonly msg: string }).msg);
  // A small change may find room while a block does not: then it is said again, but never twice in a row.
  const turns = said.flatMap((msg) => {
    if (msg.includes('nothing new can be written')) return ['full'];
    return msg === 'the store can be written again' ? ['again'] : [];
  });
  expect(turns.length).toBeGreaterThan(1);
  expect(turns).toEqual(turns.map((_, at) => (at % 2 === 0 ? 'full' : 'again')));
  expect(turns.length % 2).toBe(0);
});
