// What a person sees: the program on a real pseudo terminal.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onTerminal } from '../support/serve/terminal.ts';
import { type LiveChain, startLiveAnvil } from '../support/servers/live-chain.ts';
import { importArguments } from '../support/servers/node.ts';
import { runToEnd, type TempDir, tempDir } from '../support/servers/process.ts';
import { owner } from '../support/workload/token.ts';

const CTRL_C = '\u0003';
const free = ['--public', '127.0.0.1:0', '--dedicated', '127.0.0.1:0', '--admin', '127.0.0.1:0'] as const;
const small = ['--store-map-size', '1GiB', '--threads', '1'] as const;

let anvil: LiveChain;
let dir: TempDir;
beforeAll(async () => {
  [anvil, dir] = await Promise.all([startLiveAnvil(), tempDir('terminal')]);
  await anvil.send({ to: owner.address });
});
afterAll(async () => {
  await anvil?.[Symbol.asyncDispose]();
  await dir?.[Symbol.asyncDispose]();
});

describe('serve', () => {
  it('asks for an upstream, goes on as if it had been given, and shows what runs', async () => {
    const secret = anvil.http.replace('http://', 'http://user:s3cret@');
    const args = ['serve', '--chain', 'anvil', '--data', join(dir.path, 'asked'), ...free, ...small];
    await using run = onTerminal(args, { env: { NO_COLOR: '1' } });
    await run.see('Upstream URL: ');
    expect(run.shown()).toContain('A JSON-RPC server of anvil is needed');
    run.type('ftp://nobody\n');
    await run.see('That is not one: expected URLs that begin with http');
    run.type(`${secret}\n`);
    await run.see(/curl -s [^\n]*\n/);
    const banner = run.shown().slice(run.shown().indexOf('Chain Query '));
    expect(banner).toMatch(/^Chain Query \d+\.\d+\.\d+\S* serves/);
    expect(banner).toMatch(/chain +anvil, id 31337, newest fork known /);
    expect(banner).toMatch(/head +\d+ 0x[\da-f]{64}, verified, \d+ (s|min|h|days) old/);
    expect(banner).toContain(`${anvil.http} (leads)`);
    expect(banner).toMatch(/store +\S+asked/);
    expect(banner).toMatch(/public +http:\/\/127\.0\.0\.1:\d+ {2}no key/);
    expect(banner).toMatch(/dedicated +http:\/\/127\.0\.0\.1:\d+ {2}every method; no key is set/);
    expect(banner).toMatch(/admin +http:\/\/127\.0\.0\.1:\d+\/ {2}dashboard/);
    // What was typed is echoed by the terminal; nothing else repeats it.
    expect(run.shown().split('s3cret')).toHaveLength(2);
    expect(run.shown()).not.toContain('\u001b[');
    const line = /^curl .*$/m.exec(banner)?.[0] ?? 'false';
    expect(JSON.parse(await runToEnd('sh', ['-c', line]))).toMatchObject({
      result: expect.stringMatching(/^0x/),
    });
    run.type(CTRL_C);
    expect(await run.exited).toBe(0);
  });

  it('cancels by Enter with the command to run, and by Ctrl-C', async () => {
    const args = ['serve', '--chain', 'op-mainnet', ...free];
    const home = join(dir.path, 'home');
    {
      await using run = onTerminal(args, { env: { XDG_DATA_HOME: home } });
      await run.see('Upstream URL: ');
      run.type('\n');
      expect(await run.exited).toBe(2);
      expect(run.shown()).toContain('chain-query serve --chain op-mainnet --upstream https://HOST');
    }
    await using run = onTerminal(args, { env: { XDG_DATA_HOME: home } });
    await run.see('Upstream URL: ');
    run.type(CTRL_C);
    expect(await run.exited).toBe(130);
    expect(existsSync(home)).toBe(false);
  });

  it('says in a line of text what hinders it, and what to do', async () => {
    const taken = new URL(anvil.http).host;
    const args = ['--data', join(dir.path, 'taken'), '--upstream', anvil.http, ...small];
    const rest = ['--public', taken, '--dedicated', 'off', '--admin', 'off'];
    await using run = onTerminal(['serve', ...args, ...rest]);
    expect(await run.exited).toBe(1);
    expect(run.shown()).toContain(`chain-query: the public listener cannot use ${taken}`);
    expect(run.shown()).toMatch(/→ another program listens there: ss -ltnp/);
    expect(run.shown()).toContain('--public off');
    expect(run.shown()).not.toContain('"level"');
  });
});

it('doctor comes to a verdict within a narrow terminal, in colours', async () => {
  const args = ['doctor', '--upstream', anvil.http, ...free];
  await using run = onTerminal(args, { columns: 60, env: { NO_COLOR: '', TERM: 'xterm' } });
  expect(await run.exited).toBe(0);
  const lines = run.shown().trimEnd().split('\r\n');
  expect(run.shown()).toContain('\u001b[32mok');
  const plain = lines.map((line) => stripVTControlCharacters(line));
  expect(plain.at(-1)).toMatch(/^works, but look at: number \(upstreams together\)/);
  const checks = plain.slice(0, -1).filter((line) => /^ {2}(ok|warn|fail)/.test(line));
  expect(checks.length).toBeGreaterThan(8);
  expect(Math.max(...checks.map((line) => line.length))).toBeLessThanOrEqual(60);
});

describe('work that takes long', () => {
  const data = (): string => join(dir.path, 'imported');
  const snapshot = (): string => join(dir.path, 'snapshot');

  it('draws a bar with rate and time left on a terminal', async () => {
    await using run = onTerminal([...importArguments(data())], { columns: 72 });
    expect(await run.exited).toBe(0);
    expect(stripVTControlCharacters(run.shown())).toMatch(
      /\rimport \[#+\] (\d+)\/\1 blocks, [\d.]+ blocks\/s, 0s left\r\n/,
    );
    expect(run.shown()).toMatch(/\r\nimported \d+ blocks, head \d+ 0x[\da-f]{64}\r\n$/);
  });

  it('writes lines elsewhere, and one JSON document to stdout for scripts', async () => {
    const sh = async (args: readonly string[]): Promise<{ readonly out: unknown; readonly err: string }> => {
      const child = spawn(process.execPath, ['src/cli/main.ts', ...args, '--json']);
      const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
      return { out: JSON.parse(out), err };
    };
    const block = { number: expect.any(Number), hash: expect.stringMatching(/^0x/) };
    const again = await sh(importArguments(data()));
    expect(again.out).toEqual({ imported: 0, head: block });
    expect(again.err).toMatch(/^import: \d+\/\d+ blocks, .*\n/);
    const verified = await sh(['verify', '--data', data()]);
    expect(verified.out).toEqual({
      ...{ verdict: 'sound', blocks: expect.any(Number), head: block, stateRootChecked: true },
    });
    const exported = await sh(['snapshot', 'export', '--data', data(), '--snapshot', snapshot()]);
    const segments = expect.any(Number);
    expect(exported.out).toEqual({ lowest: block, head: block, segments, written: segments });
    expect(exported.err).toMatch(/^export: \d+ keys, /m);
    const restored = join(dir.path, 'restored');
    const back = await sh(['snapshot', 'restore', '--data', restored, '--snapshot', snapshot()]);
    expect(back.out).toEqual({ lowest: block, head: block, stateProven: true });
  });
});
