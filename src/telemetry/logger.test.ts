import { describe, expect, it } from 'vitest';
import { createLogger, type Logger, type LogLevel } from './logger.ts';
import { redactUrls } from './redact.ts';

function capture(write: (logger: Logger) => void, level: LogLevel = 'info'): string {
  const lines: string[] = [];
  write(createLogger(level, { write: (line) => void lines.push(line) }));
  return lines.join('');
}

describe('createLogger', () => {
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

describe('redactUrls', () => {
  it.each([
    ['http://127.0.0.1:8545', 'http://127.0.0.1:8545'],
    ['wss://host.example/ws', 'wss://host.example/ws'],
    ['https://host.example/rpc/v3/0123456789abcdef', 'https://host.example/rpc/v3/***'],
    ['https://p@ss:w@host.example/', 'https://***@host.example/'],
    ['two: http://a/k1 and http://b/k2', 'two: http://a/*** and http://b/***'],
    ['no url here', 'no url here'],
  ])('%s', (text, expected) => {
    expect(redactUrls(text)).toBe(expected);
  });
});
