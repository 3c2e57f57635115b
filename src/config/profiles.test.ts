import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadOptions } from './load.ts';
import { profilesOf } from './profiles.ts';

function serve(...args: readonly string[]) {
  return loadOptions('serve', { args: ['--data', 'd', ...args], env: {} });
}

function profile(name: string, ...args: readonly string[]) {
  return profilesOf(serve(...args)).find((each) => each.name === name);
}

describe('profiles', () => {
  it('are public and dedicated, with the limits of the contract (B4, B8, B9)', () => {
    expect(profilesOf(serve())).toEqual([
      {
        ...{ name: 'public', listen: { host: '127.0.0.1', port: 8545 }, auth: 'none', origins: 'any' },
        ...{ rate: 1_000, batchEntries: 100, stateReads: 2_000 },
        ...{ logsRange: { blocks: 2_000, ms: 3_600_000 }, logsResults: 10_000 },
      },
      {
        ...{ name: 'dedicated', listen: { host: '127.0.0.1', port: 8546 }, auth: 'keys', origins: 'own' },
        ...{ rate: 0, batchEntries: 1_000, stateReads: 10_000 },
        ...{ logsRange: { blocks: 100_000, ms: 0 }, logsResults: 20_000 },
      },
    ]);
  });

  it('may be more: those that ask for keys unless they say otherwise', () => {
    const partners = [
      '--profile',
      'partners.listen=127.0.0.1:0',
      '--profile',
      'partners.methods=eth_call,eth_chainId',
    ];
    expect(profile('partners', ...partners)).toMatchObject({
      ...{ auth: 'keys', origins: 'own', rate: 0, batchEntries: 1_000 },
      methods: ['eth_call', 'eth_chainId'],
    });
    const open = 'docs.listen=127.0.0.1:0,docs.auth=none,docs.logsRange=50b,1h,docs.rate=5';
    expect(profile('docs', '--profile', open)).toMatchObject({
      ...{ auth: 'none', origins: 'any', rate: 5, logsRange: { blocks: 50, ms: 3_600_000 } },
    });
  });

  it('are values of values in the file', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'profiles-')), 'config.yaml');
    writeFileSync(
      file,
      'profile:\n  public:\n    rate: 7\n    logsRange: 2000b,1h\n  docs:\n    listen: 127.0.0.1:0\n    methods: [eth_call, eth_chainId]\n',
    );
    expect(profile('public', '--config', file)).toMatchObject({
      rate: 7,
      logsRange: { blocks: 2_000, ms: 3_600_000 },
    });
    expect(profile('docs', '--config', file)?.methods).toEqual(['eth_call', 'eth_chainId']);
    writeFileSync(file, 'profile:\n  public: 7\n');
    expect(() => serve('--config', file)).toThrow('profile.public must hold keys and values');
    writeFileSync(file, 'profile:\n  public:\n    rate: { a: 1 }\n');
    expect(() => serve('--config', file)).toThrow('profile.public.rate must be a string or a number');
  });

  it.each([
    ['public.rate', 'expected NAME.SETTING=VALUE'],
    ['rate=5', 'expected NAME.SETTING=VALUE'],
    ['Public.rate=5', 'in lower case'],
    ['admin.rate=5', 'expected NAME.SETTING=VALUE'],
    ['public.rates=5', 'unknown setting of a profile. Did you mean rate?'],
    ['public.rate=x', 'public.rate: expected a whole number'],
    ['public.rate=5,public.rate=6', 'public.rate is given twice'],
    ['public.listen=127.0.0.1:1', 'where public listens is said by --public'],
    ['dedicated.auth=none', 'who may use dedicated cannot be changed'],
    ['docs.__proto__=1', 'unknown setting'],
  ])('refuse %s', (text, words) => {
    expect(() => serve('--profile', text)).toThrow(words);
  });

  it('need to know where they listen, and both files of TLS', () => {
    expect(() => profilesOf(serve('--profile', 'docs.rate=5'))).toThrow('docs.listen is missing');
    expect(() => profilesOf(serve('--profile', 'public.tlsCert=a'))).toThrow(
      'needs both, tlsCert and tlsKey',
    );
  });
});
