import { expect, it } from 'vitest';
import {
  bytes,
  count,
  duration,
  endpoint,
  hostNames,
  httpUrl,
  share,
  span,
  threads,
  undoWindow,
} from './parsers.ts';

it.each([
  ['127.0.0.1:8545', { host: '127.0.0.1', port: 8545 }],
  ['localhost:0', { host: 'localhost', port: 0 }],
  ['[::1]:8545', { host: '::1', port: 8545 }],
  ['off', 'off'],
])('reads the endpoint %s', (text, expected) => {
  expect(endpoint(text)).toEqual(expected);
});

it.each(['', ':8545', 'localhost', '::1:8545', 'localhost:65536', 'localhost:-1', 'localhost:1e3'])(
  'refuses the endpoint %j',
  (text) => {
    expect(() => endpoint(text)).toThrow('expected HOST:PORT or off');
  },
);

it.each([
  ['0', 0],
  ['1KiB', 1024],
  ['10MiB', 10_485_760],
  ['1TiB', 2 ** 40],
])('reads the size %s', (text, expected) => {
  expect(bytes({ min: 0, max: 2 ** 40 })(text)).toBe(expected);
});

it.each(['', '1MB', '-1', '1.5MiB', '2TiB'])('refuses the size %j', (text) => {
  expect(() => bytes({ min: 0, max: 2 ** 40 })(text)).toThrow('expected a size');
});

it.each(['', '-1', '1e3', '0x10', ' 5', '1__0', '101'])('refuses the count %j', (text) => {
  expect(() => count({ min: 0, max: 100 })(text)).toThrow('expected a whole number from 0 to 100');
});

it.each([
  ['500ms', 500],
  ['30s', 30_000],
  ['10m', 600_000],
  ['2h', 7_200_000],
])('reads the duration %s', (text, expected) => {
  expect(duration({ min: 1, max: 7_200_000 })(text)).toBe(expected);
});

it.each(['', '10', 'm', '1.5s', '-1s', '0s', '3h', '1 s', '1S'])('refuses the duration %j', (text) => {
  expect(() => duration({ min: 1, max: 7_200_000 })(text)).toThrow('expected a duration such as 500ms');
});

it('groups digits', () => {
  expect(count({ min: 0, max: 1e6 })('50_000')).toBe(50_000);
});

it('has at least one thread for auto', () => {
  expect(threads('auto')).toBeGreaterThan(0);
});

it('reads host names', () => {
  expect(hostNames('RPC.example.org,node_1')).toEqual(['rpc.example.org', 'node_1']);
});

it.each(['', 'a:8545', 'a,,b', 'http://a', '[::1]', '*', 'a.', 'a b'])(
  'refuses the host names %j',
  (text) => {
    expect(() => hostNames(text)).toThrow('expected host names without ports');
  },
);

it.each([
  ['2000b', { blocks: 2_000, ms: 0 }],
  ['2000', { blocks: 2_000, ms: 0 }],
  ['10m', { blocks: 0, ms: 600_000 }],
  ['30d', { blocks: 0, ms: 2_592_000_000 }],
  ['2_000b,1h', { blocks: 2_000, ms: 3_600_000 }],
  ['1h,2000', { blocks: 2_000, ms: 3_600_000 }],
])('reads %s as blocks or time (B18)', (text, expected) => {
  expect(span({ min: 1, max: 10_000 })(text)).toEqual(expected);
  expect(undoWindow(text)).toEqual(expected);
});

it.each(['', 'b', '0b', '10001b', '1b,2b', '1m,2m', '1b,1m,1b', '1b,', '-1b', '1.5b', '10x', 'finalised'])(
  'refuses %j as blocks or time',
  (text) => {
    expect(() => span({ min: 1, max: 10_000 })(text)).toThrow(/^expected /);
  },
);

it('reads finalized as an undo window', () => {
  expect(undoWindow('finalized')).toBe('finalized');
});

it.each([
  ['0', 0],
  ['1', 1],
  ['0.01', 0.01],
  ['.5', 0.5],
  ['1.0', 1],
])('reads the share %s', (text, expected) => {
  expect(share(text)).toBe(expected);
});

it.each(['', '.', '-0.1', '1.1', '2', '1e-2', '50%', 'NaN'])('refuses the share %j', (text) => {
  expect(() => share(text)).toThrow('expected a number from 0 to 1');
});

it('takes one URL of HTTP', () => {
  expect(httpUrl('https://collector.example/v1/traces')).toBe('https://collector.example/v1/traces');
  for (const text of ['', 'collector:4318', 'ws://collector.example', 'grpc://collector.example']) {
    expect(() => httpUrl(text)).toThrow('expected a URL');
  }
});
