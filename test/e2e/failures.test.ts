// What a newcomer meets when something is wrong: what happened, and what to do next.
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LiveChain, startLiveAnvil } from '../support/servers/live-chain.ts';
import { type TempDir, tempDir } from '../support/servers/process.ts';
import { runProgram, startProgram } from '../support/servers/serving.ts';

const SECRET = 's3cret';
const off = ['--public', 'off', '--dedicated', 'off', '--admin', 'off'] as const;
const quiet = ['--log-level', 'silent', '--store-map-size', '1GiB'] as const;

let anvil: LiveChain;
let dir: TempDir;
beforeAll(async () => {
  [anvil, dir] = await Promise.all([startLiveAnvil(), tempDir('failures')]);
});
afterAll(async () => {
  await anvil?.[Symbol.asyncDispose]();
  await dir?.[Symbol.asyncDispose]();
});

/** A server that answers every request so. */
async function answering(status: number, body: string): Promise<{ readonly url: string } & Disposable> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://user:${SECRET}@127.0.0.1:${port}/v1/${SECRET}`,
    [Symbol.dispose]: () => server.close(),
  };
}

async function fails(args: readonly string[], code: number): Promise<string> {
  const run = await runProgram(args);
  expect(run).toMatchObject({ code });
  expect(run.output).not.toContain(SECRET);
  expect(run.output).not.toMatch(/^\s+at /m);
  return run.output;
}

describe('a node that cannot start', () => {
  const serve = (...args: readonly string[]) => ['serve', ...quiet, ...off, ...args];

  it('on a name that no chain has', async () => {
    const output = await fails(
      serve('--data', join(dir.path, 'a'), '--upstream', anvil.http, '--chain', 'bsae'),
      1,
    );
    expect(output).toMatch(/no chain is known by the name "bsae".*\n {2}→ Did you mean base\?/);
  });

  it('on an upstream of another chain', async () => {
    const output = await fails(
      serve('--data', join(dir.path, 'b'), '--upstream', anvil.http, '--chain', 'base'),
      1,
    );
    expect(output).toMatch(
      /is of chain 31337, and this copy is of chain 8453\n {2}→ name an upstream of that chain/,
    );
  });

  it.each([
    ['refuses', 401, '{}', /→ check the key or the password/],
    ['is no JSON-RPC server', 200, '<html>', /→ this URL does not answer as JSON-RPC servers do/],
  ])('without --data, where the upstream %s', async (_, status, body, words) => {
    using server = await answering(status, body);
    expect(await fails(serve('--upstream', server.url), 1)).toMatch(words);
  });

  it('without --data on a development chain, of which there are many', async () => {
    expect(await fails(serve('--upstream', anvil.http), 2)).toMatch(
      /--data DIR is missing.*\n {2}→ name a folder/,
    );
  });

  it('in a folder that is a file, or of something else', async () => {
    const file = join(dir.path, 'file');
    writeFileSync(file, '');
    expect(await fails(serve('--data', file, '--upstream', anvil.http), 1)).toMatch(/\n {2}→ /);
    const other = join(dir.path, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'data.mdb'), 'something else');
    expect(await fails(serve('--data', other, '--upstream', anvil.http), 1)).toContain('chain-query: ');
  });

  it('without a store to look at', async () => {
    const output = await fails(['verify', '--data', join(dir.path, 'none')], 1);
    expect(output).toMatch(/there is no store.*\n {2}→ follow a chain into it: chain-query serve/);
  });

  it('says what to do in the one line of a log, too', async () => {
    const output = await fails(['serve', ...off, '--data', join(dir.path, 'none')], 1);
    expect(output.trim().split('\n')).toHaveLength(1);
    expect(JSON.parse(output)).toMatchObject({
      level: 'fatal',
      hints: [expect.stringContaining('chain-query serve --data DIR --upstream URL'), expect.any(String)],
    });
  });
});

it('does not pass control characters on, nor a text without end', async () => {
  const output = await fails(['serve', '--data', `/nope/\u001b[31m\u0007${'x'.repeat(50_000)}`, ...quiet], 1);
  expect(output).not.toMatch(/[^\n\P{Cc}]/u);
  expect(output.length).toBeLessThan(3_000);
});

it('ends with 130 when it is interrupted', async () => {
  await using server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await using run = startProgram(['doctor', '--upstream', `http://127.0.0.1:${port}`, ...off]);
  const asked = once(server, 'request');
  await asked;
  run.signal('SIGINT');
  expect(await run.exited).toBe(130);
  expect(run.output()).toContain('stopped by SIGINT');
  server.closeAllConnections();
});
