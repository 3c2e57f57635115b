import { describe, expect, it } from 'vitest';
import { parseServers } from './servers.ts';
import { streamOf, subjectOf } from './stream.ts';

describe('the URLs of NATS servers', () => {
  it('say hosts, TLS and who enters', () => {
    expect(parseServers(['nats://a', 'nats://[::1]:4333/'])).toEqual({
      hosts: ['a:4222', '[::1]:4333'],
      tls: false,
      login: undefined,
    });
    expect(parseServers(['tls://me:p%40ss@a:1', 'tls://b:2'])).toEqual({
      hosts: ['a:1', 'b:2'],
      tls: true,
      login: { user: 'me', pass: 'p@ss' },
    });
    expect(parseServers(['nats://s3cret@a']).login).toEqual({ token: 's3cret' });
  });

  it.each([
    [[]],
    [['']],
    [['s3cret']],
    [['http://u:s3cret@a']],
    [['nats://u:s3cret@']],
    [['nats://u:s3cret@a/path']],
    [['nats://a?token=s3cret']],
    [['nats://a', 'tls://u:s3cret@b']],
    [['nats://u:s3cret@a', 'nats://u:s3cret2@b']],
    [['nats://u:s3cret%zz@a']],
  ])('are refused without repeating them: %j', (urls) => {
    let said: unknown;
    try {
      parseServers(urls);
    } catch (error) {
      said = error;
    }
    expect(said).toBeInstanceOf(Error);
    expect(String(said)).toContain('NATS server');
    expect(`${String(said)} ${String((said as Error).cause)}`).not.toContain('s3cret');
  });
});

describe('the names of a chain on the feed', () => {
  it('have no characters that mean something to NATS', () => {
    expect([subjectOf('base-1'), streamOf('base-1')]).toEqual([
      'chain-query.feed.base-1',
      'chain-query-feed-base-1',
    ]);
    for (const name of ['', 'a.b', '*', '>', 'a b', 'a/b', 'x'.repeat(65)]) {
      expect(() => subjectOf(name)).toThrow('letters, digits');
    }
  });
});
