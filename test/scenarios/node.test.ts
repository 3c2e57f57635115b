import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadOptions } from '../../src/config/load.ts';
import { importArguments, runCli } from '../support/servers/node.ts';
import { repoRoot } from '../support/servers/paths.ts';
import { runToEnd, type TempDir, tempDir, until } from '../support/servers/process.ts';
import {
  callOnce,
  get,
  listeningSockets,
  programs,
  runProgram,
  startServing,
} from '../support/servers/serving.ts';

let data: TempDir;
beforeAll(async () => {
  data = await tempDir('node');
  await runCli(importArguments(data.path));
});
afterAll(() => data[Symbol.asyncDispose]());

const code = '0x5b600056';
const to = '0x00000000000000000000000000000000000000aa';
/** A call that runs until its time limit: it has gas for hours. */
const slowCall = [{ to, gas: '0xe8d4a51000' }, 'latest', { [to]: { code } }] as const;
const slowOptions = ['--call-gas-cap', '1000000000000', '--call-pool-threads', '1'];

async function callIsRunning(adminUrl: string): Promise<void> {
  await until('the call to run', async () => {
    const { text } = await get(`${adminUrl}/metrics`);
    return /^chain_query_pooled_calls [1-9]/m.test(text) ? true : undefined;
  });
}

describe('a node', () => {
  it('serves with several threads on one port, and only on loopback', async () => {
    await using node = await startServing(data.path, { args: ['--threads', '3'] });
    const ports = [node.publicUrl, node.dedicatedUrl, node.adminUrl].map((url) => new URL(url).host);
    const sockets = await listeningSockets(node.running.pid);
    expect(sockets.toSorted()).toEqual(
      [...ports.slice(0, 2).flatMap((host) => [host, host, host]), ...ports.slice(2)].toSorted(),
    );
    // The kernel spreads connections over the threads: each must give the same answer.
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => callOnce(node.publicUrl, 'eth_blockNumber')),
    );
    expect(new Set(answers.map(({ body }) => body.result))).toEqual(new Set(['0x36']));
    const { text } = await get(`${node.adminUrl}/metrics`);
    expect(text).toMatch(/chain_query_requests_total\{.*method="eth_blockNumber".*\} 60/);
  });

  it('listens on loopback unless it is told otherwise', () => {
    const options = loadOptions('serve', { args: ['--data', data.path], env: {} });
    expect([options.public, options.dedicated, options.admin]).toEqual(
      [8545, 8546, 8547].map((port) => ({ host: '127.0.0.1', port })),
    );
  });

  it('shows its health and metrics on the admin listener only', async () => {
    await using node = await startServing(data.path);
    expect(await get(`${node.adminUrl}/livez`)).toEqual({ status: 200, text: 'ok\n' });
    const ready = await get(`${node.adminUrl}/readyz?verbose`);
    expect([ready.status, JSON.parse(ready.text)]).toMatchObject([200, { ready: true }]);
    const metrics = await get(`${node.adminUrl}/metrics`);
    expect(metrics).toMatchObject({ status: 200, text: expect.stringContaining('chain_query_hot_accounts') });
    expect(await get(`${node.adminUrl}/`)).toMatchObject({
      status: 200,
      text: expect.stringContaining('<title>'),
    });
    expect((await get(`${node.adminUrl}/nothing`)).status).toBe(404);
    expect((await fetch(`${node.adminUrl}/livez`, { method: 'POST' })).status).toBe(405);
    for (const url of [node.publicUrl, node.dedicatedUrl]) {
      for (const path of ['livez', 'readyz', 'metrics']) {
        const { status, text } = await get(`${url}/${path}`);
        expect(status).toBe(405);
        expect(text).not.toContain('chain_query_');
      }
    }
  });

  it('answers eth_getBlockReceipts with 403 on the public listener alone (A7)', async () => {
    await using node = await startServing(data.path);
    expect(await callOnce(node.publicUrl, 'eth_getBlockReceipts', ['latest'])).toMatchObject({
      status: 403,
      body: { error: { code: -32004 } },
    });
    const { status, body } = await callOnce(node.dedicatedUrl, 'eth_getBlockReceipts', ['latest']);
    expect(status).toBe(200);
    expect(body.result).toHaveLength(4);
  });

  it('lets a running call finish after SIGTERM, says meanwhile that it is not ready, and exits with 0', async () => {
    await using node = await startServing(data.path, {
      args: [...slowOptions, '--call-time-limit-ms', '2000'],
    });
    const answer = callOnce(node.publicUrl, 'eth_call', slowCall);
    await callIsRunning(node.adminUrl);
    node.running.signal('SIGTERM');
    const notReady = await until('the node to drain', async () => {
      const ready = await get(`${node.adminUrl}/readyz`);
      return ready.status === 503 ? ready : undefined;
    });
    expect(JSON.parse(notReady.text)).toMatchObject({ ready: false, reasons: [{ reason: 'draining' }] });
    expect(await get(`${node.adminUrl}/livez`)).toMatchObject({ status: 200 });
    await expect(callOnce(node.publicUrl, 'eth_blockNumber')).rejects.toThrow('fetch failed');
    expect(await answer).toMatchObject({
      status: 200,
      body: { error: { code: -32000, message: expect.stringContaining('time limit of 2 s') } },
    });
    expect(await node.running.exited).toBe(0);
  });

  it('serves on for a while after the signal, so that a balancer can notice', async () => {
    await using node = await startServing(data.path, { args: ['--drain-delay-ms', '1000'] });
    const signalled = performance.now();
    node.running.signal('SIGTERM');
    await until('the node to say that it drains', async () =>
      (await get(`${node.adminUrl}/readyz`)).status === 503 ? true : undefined,
    );
    expect(await callOnce(node.publicUrl, 'eth_blockNumber')).toMatchObject({ status: 200 });
    expect(await node.running.exited).toBe(0);
    expect(performance.now() - signalled).toBeGreaterThanOrEqual(990);
    await expect(callOnce(node.publicUrl, 'eth_blockNumber')).rejects.toThrow('fetch failed');
  });

  it('cuts off what does not finish in time, and says so with 1', async () => {
    const args = [...slowOptions, '--call-time-limit-ms', '60000', '--shutdown-timeout-ms', '200'];
    await using node = await startServing(data.path, { args });
    const answer = callOnce(node.publicUrl, 'eth_call', slowCall).catch(() => 'cut off');
    await callIsRunning(node.adminUrl);
    node.running.signal('SIGTERM');
    expect(await node.running.exited).toBe(1);
    expect(await answer).toBe('cut off');
    expect(node.running.output()).toContain('requests were still running 200 ms after the signal');
  });

  it('ends at once at the second signal', async () => {
    await using node = await startServing(data.path, {
      args: [...slowOptions, '--call-time-limit-ms', '60000'],
    });
    const answer = callOnce(node.publicUrl, 'eth_call', slowCall).catch(() => 'cut off');
    await callIsRunning(node.adminUrl);
    node.running.signal('SIGINT');
    await until('the node to drain', () => (node.running.output().includes('draining') ? true : undefined));
    node.running.signal('SIGINT');
    expect(await node.running.exited).toBe(130);
    expect(await answer).toBe('cut off');
  });

  it('can be one of several processes on one store', async () => {
    await using first = await startServing(data.path);
    await using second = await startServing(data.path);
    const ask = (url: string) => callOnce(url, 'eth_getBlockReceipts', ['0x10']);
    expect(await ask(second.dedicatedUrl)).toEqual(await ask(first.dedicatedUrl));
    expect(await runProgram(['verify', '--data', data.path])).toMatchObject({ code: 0 });
    await first[Symbol.asyncDispose]();
    expect(await callOnce(second.publicUrl, 'eth_blockNumber')).toMatchObject({ body: { result: '0x36' } });
  });
});

describe('a serving thread that ends by itself', () => {
  it.each([
    ['by an error', 'throw new Error("crash on demand")', 'crash on demand'],
    ['quietly', 'process.exit(0)', 'a serving thread ended'],
  ])('%s takes the node with it', async (_, crash, words) => {
    await using dir = await tempDir('crash');
    const trigger = join(dir.path, 'now');
    const preload = join(dir.path, 'crash.mjs');
    // Loaded into each thread; the second one crashes once the file is there.
    await writeFile(
      preload,
      `import { existsSync } from 'node:fs';
       import { threadId } from 'node:worker_threads';
       const timer = threadId === 2
         ? setInterval(() => { if (existsSync(${JSON.stringify(trigger)})) ${crash}; }, 10)
         : undefined;
       timer?.unref();`,
    );
    await using node = await startServing(data.path, {
      args: ['--threads', '3'],
      env: { NODE_OPTIONS: `--import=${preload}` },
    });
    expect(await callOnce(node.publicUrl, 'eth_blockNumber')).toMatchObject({ status: 200 });
    await writeFile(trigger, '');
    expect(await node.running.exited).toBe(1);
    expect(node.running.output()).toContain('the node cannot go on');
    expect(node.running.output()).toContain(words);
  });
});

/** What the last line of the log of a node that failed says; every other line is of the log, too. */
function failureOf({ code: exitCode, output }: { readonly code: unknown; readonly output: string }): string {
  expect(exitCode).toBe(1);
  const lines = output.trim().split('\n');
  const parsed = lines.map((line) => JSON.parse(line) as { readonly level: string; readonly msg: string });
  expect(parsed.at(-1)).toMatchObject({ level: 'fatal' });
  return parsed.at(-1)?.msg ?? '';
}

describe('what Node itself says is a line of the log', () => {
  it.each([
    [
      'a warning in the main thread',
      0,
      `process.emitWarning('odd "https://host/key"')`,
      'a warning of Node',
      undefined,
    ],
    ['a warning in a serving thread', 2, `process.emitWarning('odd')`, 'a warning of Node', undefined],
    ['an error that nobody caught', 0, `throw new Error('a bug')`, 'nobody caught this: the process ends', 1],
    ['a rejection', 0, `Promise.reject(new Error('a bug'))`, 'nobody caught this: the process ends', 1],
    ['an error in a serving thread', 2, `throw new Error('a bug')`, 'the node cannot go on', 1],
  ])('%s', async (_, thread, act, words, exit) => {
    await using dir = await tempDir('said');
    const trigger = join(dir.path, 'now');
    const preload = join(dir.path, 'act.mjs');
    await writeFile(
      preload,
      `import { existsSync } from 'node:fs';
       import { threadId } from 'node:worker_threads';
       const timer = threadId !== ${thread} ? undefined : setInterval(() => {
         if (!existsSync(${JSON.stringify(trigger)})) return;
         clearInterval(timer);
         ${act};
       }, 10);
       timer?.unref();`,
    );
    await using node = await startServing(data.path, {
      args: ['--threads', '2'],
      env: { NODE_OPTIONS: `--import=${preload}` },
    });
    await writeFile(trigger, '');
    await until('it to be said', () => (node.running.output().includes(words) ? true : undefined));
    if (exit === undefined) node.running.signal('SIGTERM');
    expect(await node.running.exited).toBe(exit ?? 0);
    const lines = node.running.output().trim().split('\n');
    const said = lines.map((line) => JSON.parse(line) as { msg: string; err?: { stack?: unknown } });
    expect(said.filter(({ msg }) => msg === words)).toEqual([
      expect.objectContaining({ err: expect.objectContaining({ stack: expect.any(Array) }) }),
    ]);
  });
});

describe('a node that cannot start says why in one line', () => {
  const off = ['--public', 'off', '--dedicated', 'off', '--admin', 'off'];

  it('without a store', async () => {
    await using dir = await tempDir('empty');
    expect(failureOf(await runProgram(['serve', '--data', `${dir.path}/none`, ...off]))).toBe(
      `${dir.path}/none does not exist: import a chain first, or follow one with --upstream`,
    );
    expect(failureOf(await runProgram(['serve', '--data', dir.path, ...off]))).toBe(
      `${dir.path} holds no chain: import one first`,
    );
    const silent = await runProgram(['serve', '--data', dir.path, ...off, '--log-level', 'silent']);
    expect(silent).toEqual({
      code: 1,
      output: [
        `chain-query: ${dir.path} holds no chain: import one first`,
        '  → follow a chain into it: chain-query serve --data DIR --upstream URL',
        '  → or import one: chain-query import --data DIR --genesis FILE --blocks FILE',
        '',
      ].join('\n'),
    });
  });

  it('with flashblocks of a chain that it does not follow', async () => {
    const args = ['--flashblocks', 'ws://127.0.0.1:1', ...off];
    const failed = await runProgram(['serve', '--data', data.path, ...args]);
    expect(failureOf(failed)).toMatch(/^--flashblocks needs --upstream/);
  });

  it('with an option it does not know', async () => {
    const { code: exitCode, output } = await runProgram(['serve', '--data', data.path, '--thread', '2']);
    expect(exitCode).toBe(2);
    expect(output).toMatch(/unknown option --thread\. .*--threads/);
  });

  it.each(['public', 'dedicated', 'admin'])('when the port of the %s listener is taken', async (listener) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const rest = ['public', 'dedicated', 'admin'].filter((name) => name !== listener);
    const args = [
      ...rest.flatMap((name) => [`--${name}`, '127.0.0.1:0']),
      `--${listener}`,
      `127.0.0.1:${port}`,
    ];
    const failed = await runProgram(['serve', '--data', data.path, ...args]);
    other.close();
    expect(failureOf(failed)).toMatch(
      new RegExp(`^the ${listener} listener cannot use 127.0.0.1:${port}: .*EADDRINUSE`),
    );
  });

  it('when another node has its port: they would share it and mix their answers', async () => {
    await using node = await startServing(data.path);
    const taken = new URL(node.publicUrl).host;
    const args = ['--public', taken, '--dedicated', 'off', '--admin', 'off'];
    expect(await runProgram(['serve', '--data', data.path, ...args])).toMatchObject({
      code: 1,
      output: expect.stringContaining(`the public listener cannot use ${taken}`),
    });
  });

  it('when two of its own listeners are given one port', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as AddressInfo;
    await once(free.close(), 'close');
    const endpoint = `127.0.0.1:${port}`;
    const args = ['--public', endpoint, '--dedicated', endpoint, '--admin', 'off'];
    expect(await runProgram(['serve', '--data', data.path, ...args])).toMatchObject({
      code: 1,
      output: expect.stringContaining(`the dedicated listener cannot use ${endpoint}`),
    });
  });
});

it('works as it is published', async () => {
  await runToEnd('npm', ['run', '-s', 'build:ts'], { cwd: repoRoot });
  expect(await runProgram(['--version'], programs.compiled)).toMatchObject({ code: 0 });
  await using node = await startServing(data.path, { program: programs.compiled, args: ['--threads', '2'] });
  expect(await callOnce(node.publicUrl, 'eth_blockNumber')).toMatchObject({ body: { result: '0x36' } });
  node.running.signal('SIGTERM');
  expect(await node.running.exited).toBe(0);
});
