// What is printed to whoever got a command wrong: what it is, and what to do next; and to scripts.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { dispatched } from '../../test/support/dispatched.ts';
import { LOADERS } from './loaders.ts';

const SECRET = 's3cret';

const run = (args: readonly string[]) => dispatched(args, LOADERS);

describe('usage', () => {
  it.each([
    [
      ['serve'],
      /--upstream URL is missing.*\n {2}→ follow a chain: chain-query serve --upstream https:\/\/HOST\n/,
    ],
    [['serve', '--chain', 'op-mainnet'], /→ follow a chain: chain-query serve --chain op-mainnet --upstream/],
    [
      ['serve', '--data', 'd', '--upstream', `ftp://u:${SECRET}@h`],
      /--upstream: expected URLs.*\n {2}→ such as http/,
    ],
    [['serve', '--thread', '2'], /unknown option --thread\. Did you mean --threads\?/],
    [['serve', '--blocks', 'b'], /--blocks is not an option of serve\n {2}→ it is one of import/],
    [['serve', `--https://u:${SECRET}@h`], /unknown option/],
    [['serve', `https://u:${SECRET}@h`], /unexpected argument \(number 1\)/],
    [
      ['import', '--data', 'd', '--genesis', '/nope', '--blocks', 'b'],
      /--genesis: \/nope does not exist\n {2}→/,
    ],
    [
      ['import', '--data', 'd', '--blocks', 'b'],
      /--genesis FILE is missing.*\n {2}→ run: chain-query import --data/,
    ],
    [
      ['ingest', '--upstream', 'http://h'],
      /--store cql:\/\/… is missing.*\n {2}→ run: chain-query ingest --store/,
    ],
    [['keys', 'revoke', '--keys', '/nope'], /--key-id ID is missing\n {2}→ chain-query keys list/],
    [['completion', 'bsh'], /completion needs one of bash, zsh, fish\. Did you mean bash\?/],
    [['serve', '--config', '/nope'], /config file \/nope cannot be read.*\n {2}→ there is no \/nope/],
  ])('%j', async (args, words) => {
    const { code, stderr, stdout } = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).not.toContain(SECRET);
    expect(stderr).toMatch(words);
    expect(stderr).toMatch(/Try chain-query \w+ --help\.\n$/);
  });
});

describe('--json', () => {
  const folder = mkdtempSync(join(tmpdir(), 'chain-query-json-'));
  const keys = join(folder, 'keys.yaml');
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function json(...args: readonly string[]): Promise<unknown> {
    const { code, stdout, stderr } = await run([...args, '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  }

  it('gives one document, of the shape in docs/cli.md', async () => {
    expect(await json('--version')).toEqual({
      ...{ version: '1.2.3', node: process.versions.node },
      ...{ platform: process.platform, arch: process.arch },
    });
    expect(await json('chains')).toMatchObject({
      chains: expect.arrayContaining([
        expect.objectContaining({ name: 'op-mainnet', chainId: 10, blockTimeMs: 2_000 }),
      ]),
    });
    expect(await json('plan', '--chain', 'base')).toMatchObject({ chain: 'base', demand: {}, plan: {} });
    expect(await json('config', 'check')).toEqual({ ok: true, set: ['json'], warnings: [] });
  });

  it('of keys, without their hashes', async () => {
    const added = await json('keys', 'add', '--keys', keys, '--key-name', 'alice');
    expect(added).toEqual({ name: 'alice', key: expect.stringMatching(/^cq_/) });
    const listed = (await json('keys', 'list', '--keys', keys)) as { keys: readonly { id: string }[] };
    expect(listed).toEqual({
      keys: [{ id: expect.any(String), name: 'alice', created: expect.any(String), grant: {} }],
    });
    const id = listed.keys[0]?.id ?? '';
    expect(await json('keys', 'revoke', '--keys', keys, '--key-id', id)).toEqual({ revoked: id });
    expect(await json('keys', 'list', '--keys', keys)).toEqual({ keys: [] });
  });

  it('leaves stdout empty when it fails', async () => {
    expect(await run(['plan', '--chain', 'nope', '--json'])).toMatchObject({ code: 2, stdout: '' });
  });
});

it('has help in every way that it is asked for', async () => {
  const [screen, all] = [await run(['serve', '--help']), await run(['serve', '--help', '--all'])];
  expect(await run(['help', 'serve'])).toEqual(screen);
  expect(await run(['help', 'serve', '--all'])).toEqual(all);
  expect(await run(['--help', '--all'])).toEqual(await run(['help', '--all']));
  expect(all.stdout.length).toBeGreaterThan(10 * screen.stdout.length);
});
