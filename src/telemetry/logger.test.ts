import { describe, expect, it } from 'vitest';
import { createLogger, type Logger, type LogLevel } from './logger.ts';
import { redactUrls } from './redact.ts';

function capture(write: (logger: Logger) => void, level: LogLevel = 'info'): string {
  const lines: string[] = [];
  write(createLogger(level, { write: (line) => void lines.push(line) }));
  return lines.join('');
}

describe('createLogger', () => {
  it('stays JSON when a message quotes a URL', () => {
    const line = capture((logger) => logger.info('say "https://host/key" now'));
    expect(JSON.parse(line)).toMatchObject({ msg: 'say "https://host/***" now' });
  });

  it('writes one JSON line with a level name', () => {
    const line = capture((logger) => logger.info({ block: 7 }, 'imported'));
    expect(JSON.parse(line)).toMatchObject({ level: 'info', block: 7, msg: 'imported' });
  });

  it('is quiet below its level', () => {
    expect(capture((logger) => logger.info('x'), 'warn')).toBe('');
  });

  it('hides credentials in headers', () => {
    const headers = { authorization: 'Bearer s3cret', 'x-api-key': 's3cret', cookie: 's3cret', host: 'a' };
    const line = capture((logger) => logger.info({ headers, request: { headers } }, 'request'));
    expect(line).not.toContain('s3cret');
    expect(line).toContain('"host":"a"');
  });

  it('hides credentials in URLs of messages, fields and errors, and stays JSON', () => {
    const url = 'https://user:s3cret@node.example/v2/s3cret?key=s3cret';
    const line = capture((logger) =>
      logger.error({ url, err: new Error(`fetch ${url} failed`) }, `from ${url}`),
    );
    expect(line).not.toContain('s3cret');
    expect(JSON.parse(line)).toMatchObject({ url: 'https://***@node.example/v2/***?***' });
  });
});

describe('errors in the log', () => {
  function logged(err: unknown): Record<string, unknown> {
    const line = capture((logger) => logger.error({ err }, 'failed'));
    return (JSON.parse(line) as { readonly err: Record<string, unknown> }).err;
  }

  it('have their stacks as lists of places, and their causes', () => {
    class StateError extends Error {
      override readonly name = 'StateError';
      readonly code = 'gone';
    }
    const cause = new TypeError('connect\nrefused', { cause: 'no route' });
    const err = logged(new StateError('no state', { cause }));
    expect(err).toMatchObject({
      type: 'StateError',
      message: 'no state',
      code: 'gone',
      cause: { type: 'TypeError', message: 'connect\nrefused', cause: 'no route' },
    });
    const [nearest] = err['stack'] as readonly string[];
    expect(nearest).toMatch(/logger\.test\.ts:\d+:\d+/);
    expect(nearest).not.toContain('***');
  });

  it('have those they are made of', () => {
    const err = logged(new AggregateError([new Error('one'), 'two'], 'both'));
    expect(err).toMatchObject({
      type: 'AggregateError',
      message: 'both',
      errors: [{ message: 'one' }, 'two'],
    });
  });

  it('end, whatever they are caused by and however long they are', () => {
    const round: Error = new Error('x'.repeat(100_000));
    round.cause = round;
    expect(JSON.stringify(logged(round)).length).toBeLessThan(20_000);
    const odd: Record<string, unknown> = { why: 'not an error' };
    odd['self'] = odd;
    expect(logged(odd)).toContain("why: 'not an error'");
    expect(logged(10n)).toBe('10n');
    expect(logged(Object.assign(new Error('big'), { wei: 10n, run: () => 1 }))).toMatchObject({ wei: '10' });
  });

  it('say how many bytes a block has, and not which', () => {
    const refused = Object.assign(new Error('refused'), {
      block: { number: 7, gas: 9n, rlp: new Uint8Array(40_000), deep: { a: { b: { c: 1 } } } },
    });
    const { block } = logged(refused) as { block: Record<string, unknown> };
    expect(block).toMatchObject({ number: 7, gas: '9', rlp: '40000 bytes' });
    expect(JSON.stringify(block).length).toBeLessThan(200);
  });
});

describe('redactUrls', () => {
  it.each([
    ['http://127.0.0.1:8545', 'http://127.0.0.1:8545'],
    ['wss://host.example/ws', 'wss://host.example/ws'],
    ['https://host.example/rpc/v3/0123456789abcdef', 'https://host.example/rpc/v3/***'],
    ['https://p@ss:w@host.example/', 'https://***@host.example/'],
    ['two: http://a/k1 and http://b/k2', 'two: http://a/*** and http://b/***'],
    ['no url here', 'no url here'],
    ["http://user:p'a<s>s@host/", 'http://***@host/'],
    [String.raw`say \"https://host/key\" now`, String.raw`say \"https://host/***\" now`],
    [String.raw`https://host/key\n    at x`, String.raw`https://host/***\n    at x`],
    ['at run (file:///srv/app/main.js:1:2)', 'at run (file:///srv/app/main.js:1:2)'],
    ['a.'.repeat(50_000), 'a.'.repeat(50_000)],
  ])('%s', (text, expected) => {
    expect(redactUrls(text)).toBe(expected);
  });
});
