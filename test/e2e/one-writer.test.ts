// One process moves the head of a store; all others that do not may work beside it.
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DevGeth, startDevGeth } from '../support/servers/geth.ts';
import { importArguments } from '../support/servers/node.ts';
import { type TempDir, tempDir, until } from '../support/servers/process.ts';
import { callOnce, runProgram, startServing } from '../support/servers/serving.ts';
import { makeToken } from '../support/workload/token.ts';

let geth: DevGeth;
let dir: TempDir;
beforeAll(async () => {
  geth = await startDevGeth();
  dir = await tempDir('one-writer');
  await makeToken(geth.url, 5, 1);
});
afterAll(async () => {
  await geth?.stop();
  await dir?.[Symbol.asyncDispose]();
});

const MAP = ['--store-map-size', '1GiB'] as const;
const off = ['--public', 'off', '--dedicated', 'off', '--admin', 'off'] as const;

it('refuses a second writer in words, and lets all others work beside the first', async () => {
  const data = join(dir.path, 'data');
  const follow = ['--upstream', geth.url, ...MAP, '--threads', '1', '--finality-ms', '100'];
  const second = ['serve', '--data', data, ...follow, ...off];
  {
    await using node = await startServing(data, { args: follow });
    for (const args of [second, importArguments(data)]) {
      const refused = await runProgram(args);
      expect(refused.output).toContain(`${data} is already written by another process`);
      expect(refused.code).toBe(1);
    }
    const { code, output } = await runProgram(['backfill', '--data', data, '--upstream', geth.url, ...MAP]);
    expect(output).toMatch(/lowest 0 0x/);
    expect(code).toBe(0);
    expect(await runProgram(['verify', '--data', data, ...MAP])).toMatchObject({ code: 0 });
    const doctor = ['doctor', '--data', data, '--upstream', geth.url, ...MAP, ...off];
    expect((await runProgram(doctor)).output).toMatch(/store +blocks 0 to/);
    await using beside = await startServing(data, { args: [...MAP, '--threads', '1'] });
    const ask = (url: string) => callOnce(url, 'eth_getBlockReceipts', ['0x2']);
    const filled = await ask(beside.dedicatedUrl);
    expect(filled).toMatchObject({ status: 200, body: { result: [{ blockNumber: '0x2' }] } });
    // The follower notices what was added below it at its next look.
    await until('the node to serve what was filled in', async () =>
      isDeepStrictEqual(await ask(node.dedicatedUrl), filled) ? true : undefined,
    );
    node.running.signal('SIGKILL');
    expect(await node.running.exited).toBe('SIGKILL');
  }
  await using _ = await startServing(data, { args: follow });
});
