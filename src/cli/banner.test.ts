import { expect, it } from 'vitest';
import { loadOptions } from '../config/load.ts';
import { type Banner, renderBanner } from './banner.ts';

const hash = `0x${'ab'.repeat(32)}` as const;

function banner(args: readonly string[], change: Partial<Banner> = {}): string {
  return renderBanner({
    role: 'serve',
    version: '1.2.3',
    facts: {
      ...{
        chainId: 10n,
        head: { number: 7, hash },
        headTime: 1_000,
        lag: 3,
        leader: 'http://one',
        issues: [],
      },
    },
    options: loadOptions('serve', { args, env: {} }),
    addresses: { public: '0.0.0.0:8545', dedicated: '[::]:8546', admin: '127.0.0.1:8547' },
    paint: (_, text) => text,
    now: 1_090,
    ...change,
  });
}

it('says what runs, of which chain, from whom, and where to ask', () => {
  const upstreams = ['--upstream', 'http://one', '--upstream', 'https://u:s3cret@two/v1/s3cret'];
  const stream = [
    '--flashblocks',
    'wss://u:s3cret@stream/s3cret',
    '--keys',
    'keys.yaml',
    '--data',
    '/d\u001b[2J',
  ];
  const text = banner([...upstreams, ...stream]);
  expect(text).not.toContain('s3cret');
  expect(text).not.toContain('\u001b');
  expect(text).toContain('Chain Query 1.2.3 serves');
  expect(text).toContain('op-mainnet, id 10, newest fork known ');
  expect(text).toContain(`7 ${hash}, verified, 90 s old, 3 blocks behind\n`);
  expect(text).toContain('http://one (leads)\n');
  expect(text).toContain('wss://***@stream/***');
  expect(text).toContain('http://[::1]:8546  every method; asks for a key');
  expect(text).toContain('http://127.0.0.1:8547/  dashboard');
  expect(text).toMatch(/^curl -s http:\/\/127\.0\.0\.1:8545 -H/m);
});

it('says what an ingester writes, and that there is no block yet', () => {
  const facts = { chainId: 999n, head: undefined, headTime: undefined, lag: undefined, issues: [] };
  const text = banner(['--store', 'cql://a,b/keys'], {
    role: 'ingest',
    facts,
    addresses: { admin: '127.0.0.1:1' },
  });
  expect(text).toContain('Chain Query 1.2.3 ingests');
  expect(text).toContain('id 999\n');
  expect(text).toContain('no block yet');
  expect(text).toContain('cql://a,b/keys, chain main');
  expect(text).not.toContain('curl');
});
