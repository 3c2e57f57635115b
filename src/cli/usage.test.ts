// What is printed to whoever got a command wrong: what it is, and what to do next.
import { describe, expect, it } from 'vitest';
import { dispatch } from './dispatch.ts';
import { LOADERS } from './loaders.ts';

const SECRET = 's3cret';

async function run(args: readonly string[]) {
  let [stdout, stderr] = ['', ''];
  const code = await dispatch({
    args,
    env: {},
    version: '1.2.3',
    signal: new AbortController().signal,
    stdin: () => process.stdin,
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
    commands: LOADERS,
  });
  return { code, stdout, stderr };
}

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
