import { describe, expect, it } from 'vitest';
import { readPlainHead } from './plain-request.ts';

const BODY = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';

function request(...headers: readonly string[]): string {
  return `POST / HTTP/1.1\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n`;
}

function read(text: string, maxBodyBytes = 1_000): ReturnType<typeof readPlainHead> {
  return readPlainHead(Buffer.from(text, 'latin1'), 0, maxBodyBytes);
}

const PLAIN = request('Host: a', 'Content-Type: application/json', `Content-Length: ${BODY.length}`);

describe('a plain head', () => {
  it('says where the body is', () => {
    expect(read(PLAIN + BODY)).toEqual({ bodyStart: PLAIN.length, bodyLength: BODY.length });
  });

  it('is found behind another request', () => {
    const first = Buffer.from(PLAIN + BODY);
    const both = Buffer.concat([first, first]);
    expect(readPlainHead(both, first.length, 1_000)).toEqual({
      bodyStart: first.length + PLAIN.length,
      bodyLength: BODY.length,
    });
  });

  it.each([
    ['names in any case', ['HOST: a', 'content-TYPE: application/json', 'content-length: 1']],
    ['types in any case', ['Host: a', 'Content-Type: Application/JSON', 'Content-Length: 1']],
    ['a charset', ['Host: a', 'Content-Type: application/json; charset=utf-8', 'Content-Length: 1']],
    [
      'keep-alive',
      ['Host: a', 'Connection: Keep-Alive', 'Content-Type: application/json', 'Content-Length: 1'],
    ],
    ['other headers', ['X-Any: thing ', 'Host:', 'Content-Type:application/json', 'Content-Length:1']],
  ])('may have %s', (_, headers) => {
    expect(read(request(...headers))).toMatchObject({ bodyLength: 1 });
  });

  it.each([
    ['X-Chain-At-Least: 12', '12'],
    ['x-chain-at-least:12;3', '12;3'],
    ['X-CHAIN-AT-LEAST: ;;', ';;'],
  ])('may say what to wait for: %s', (header, atLeast) => {
    const text = request('Host: a', header, 'Content-Type: application/json', 'Content-Length: 1');
    expect(read(text)).toMatchObject({ bodyLength: 1, atLeast });
    expect(read(PLAIN)).toMatchObject({ atLeast: undefined });
  });

  it.each(['a', '0f8fad5b-d9cb-469f-a165-70867728950e', 'A_b.c-9'])('may have a name: %s', (requestId) => {
    const text = request(
      'Host: a',
      `X-Request-ID: ${requestId}`,
      'Content-Type: application/json',
      'Content-Length: 1',
    );
    expect(read(text)).toMatchObject({ bodyLength: 1, requestId });
    expect(read(PLAIN)).toMatchObject({ requestId: undefined });
  });

  it('may say which trace it is part of, where that is read', () => {
    const headers = ['Host: a', 'Content-Type: application/json', 'Content-Length: 1'];
    const traced = (...more: readonly string[]) =>
      readPlainHead(Buffer.from(request(...headers, ...more)), 0, 1_000, {
        checksOrigin: false,
        wantsTraceparent: true,
      });
    expect(traced('Traceparent: 00-a-b-01')).toMatchObject({ traceparent: '00-a-b-01' });
    expect(traced()).toMatchObject({ traceparent: undefined });
    expect(read(request(...headers, 'Traceparent: 00-a-b-01'))).toMatchObject({ traceparent: undefined });
    for (const more of [['Traceparent:  a'], ['Traceparent: a '], ['Traceparent: a', 'traceparent: a']]) {
      expect(traced(...more)).toBe('other');
    }
  });

  it('is waited for, whatever its last byte', () => {
    for (let length = 0; length < PLAIN.length; length++) {
      expect(read(PLAIN.slice(0, length)), JSON.stringify(PLAIN.slice(0, length))).toBe('more');
    }
  });
});

describe('left to node is', () => {
  const base = ['Host: a', 'Content-Type: application/json', 'Content-Length: 1'] as const;
  const having = (...headers: readonly string[]): string => request(...base, ...headers);
  const length = (value: string): string => request(base[0], base[1], `Content-Length:${value}`);

  it.each([
    ['another method', PLAIN.replace('POST', 'GET')],
    ['another target', PLAIN.replace('/ ', '/x ')],
    ['another version', PLAIN.replace('1.1', '1.0')],
    ['an empty line first', `\r\n${PLAIN}`],
    ['bare line feeds', PLAIN.replaceAll('\r', '')],
    ['one bare line feed', PLAIN.replace('a\r\n', 'a\n')],
    ['a carriage return alone', PLAIN.replace('a\r\n', 'a\rb\r\n')],
    ['a folded line', having('X: a\r\n b')],
    ['a space before a colon', having('X : a')],
    ['no colon', having('X')],
    ['no name', having(': a')],
    ['a tab', having('X: a\tb')],
    ['a null byte', having('X: a\0')],
    ['a high byte', having('X: é')],
    ['Transfer-Encoding', having('Transfer-Encoding: chunked')],
    ['Expect', having('expect: 100-continue')],
    ['Upgrade', having('UPGRADE: websocket')],
    ['Connection: close', having('Connection: close')],
    ['two Connections', having('Connection: keep-alive', 'Connection: keep-alive')],
    ['Proxy-Connection', having('Proxy-Connection: keep-alive')],
    ['a second Host', having('Host: b')],
    ['a second type', having('Content-Type: application/json')],
    ['a second length', having('Content-Length: 1')],
    ['no Host', request(base[1], base[2])],
    ['no type', request(base[0], base[2])],
    ['no length', request(base[0], base[1])],
    ['another type', request(base[0], 'Content-Type: application/jsonp', base[2])],
    ['a signed length', length(' +1')],
    ['a negative length', length(' -1')],
    ['a leading zero', length(' 01')],
    ['no body', length(' 0')],
    ['an empty length', length('')],
    ['two spaces before a length', length('  1')],
    ['a space after a length', length(' 1 ')],
    ['a list of lengths', length(' 1, 1')],
    ['a length too large', length(' 1001')],
    ['a length of many digits', length(` ${'1'.repeat(30)}`)],
    ['a block to wait for, twice', having('X-Chain-At-Least: 1', 'X-Chain-At-Least: 1')],
    ['no block to wait for', having('X-Chain-At-Least:')],
    ['a space after a block to wait for', having('X-Chain-At-Least: 1 ')],
    ['two spaces before a block to wait for', having('X-Chain-At-Least:  1')],
    ['a block to wait for in hex', having('X-Chain-At-Least: 0x1')],
    ['a block to wait for of many digits', having(`X-Chain-At-Least: ${'1'.repeat(33)}`)],
    ['two names', having('X-Request-ID: a', 'X-Request-ID: a')],
    ['an empty name', having('X-Request-ID:')],
    ['a space after a name', having('X-Request-ID: a ')],
    ['two spaces before a name', having('X-Request-ID:  a')],
    ['what is no name', having('X-Request-ID: a"b')],
    ['a name that is too long', having(`X-Request-ID: ${'a'.repeat(65)}`)],
    ['a head of many bytes', having(`X: ${'x'.repeat(10_000)}`)],
    ['a head of many lines', having(...Array.from({ length: 100 }, () => 'X: x'))],
  ])('%s', (_, text) => {
    expect(read(text)).toBe('other');
  });

  it('what can no longer become plain, before the rest is there', () => {
    expect(read('GE')).toBe('other');
    expect(read('POST / HTTP/1.1\r\nContent-Length: 1x')).toBe('other');
    expect(read('POST / HTTP/1.1\r\nTransfer-Encoding:')).toBe('other');
    expect(read(`POST / HTTP/1.1\r\nX: ${'x'.repeat(10_000)}`)).toBe('other');
  });
});
