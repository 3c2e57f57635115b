import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  answerTo,
  ManualClock,
  makeUpstream,
  type Reply,
  rejection,
  startFakeServer,
} from '../../../test/support/source/upstreams.ts';
import type { SourceError } from '../errors.ts';

// A scripted server, because no real one refuses, garbles or limits on request.
const echo = (text: string): string => answerTo(text, ({ params }) => params[0]);
const ask = (upstream: ReturnType<typeof makeUpstream>, count: number): Promise<unknown[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => upstream.request('echo', [at])));
const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

describe('Upstream over HTTP', () => {
  const failureOf = async (reply: Reply): Promise<SourceError> => {
    await using server = await startFakeServer({ http: () => reply });
    const upstream = makeUpstream(server.http, { maxResponseBytes: 10_000 });
    return (await rejection(upstream.request('eth_x', []))) as SourceError;
  };
  const rpc = (code: number, message: string, data?: unknown): Reply => ({
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code, message, data } }),
  });

  it.each<[string, Reply, string, boolean]>([
    ['HTML', { body: '<html>' }, 'garbage', true],
    ['an empty body', { body: '' }, 'garbage', true],
    ['JSON that is no answer', { body: '{"hello":1}' }, 'garbage', true],
    ['a cut connection', 'cut', 'unreachable', true],
    ['502', { status: 502, body: 'bad gateway' }, 'overloaded', true],
    ['401', { status: 401, body: '{"error":"key"}' }, 'unauthorized', false],
    ['403', { status: 403, body: 'no' }, 'unauthorized', false],
    ['404', { status: 404, body: 'no' }, 'refused', false],
    [
      'a redirect',
      { status: 308, headers: { location: 'http://elsewhere.example/' }, body: '' },
      'refused',
      false,
    ],
    ['a body that is too large', { body: 'x'.repeat(20_000) }, 'tooLarge', false],
    [
      '403 with an error in it',
      { status: 403, body: '{"id":1,"error":{"code":-32004,"message":"no"}}' },
      'unsupported',
      false,
    ],
    ['429', { status: 429, body: '' }, 'rateLimited', true],
    ['-32005', rpc(-32005, 'limit exceeded'), 'rateLimited', true],
    ['words for a rate limit', rpc(-32000, 'Too many requests, slow down'), 'rateLimited', true],
    ['an internal error', rpc(-32603, 'internal'), 'overloaded', true],
    ['bad params', rpc(-32602, 'invalid argument 0'), 'refused', false],
    ['an unknown block of geth', rpc(-32000, 'header for hash not found'), 'unknownBlock', true],
    ['an unknown block of anvil', rpc(-32001, 'Resource not found'), 'unknownBlock', true],
    ['pruned state of geth', rpc(-32000, 'historical state a5 is not available'), 'stateUnavailable', false],
    ['pruned state of old geth', rpc(-32000, 'missing trie node 12 (path )'), 'stateUnavailable', false],
    [
      'pruned state of anvil',
      rpc(-32602, 'BlockOutOfRangeError: block height is 2'),
      'stateUnavailable',
      false,
    ],
  ])('calls %s what it is', async (_, reply, code, retryable) => {
    const failure = await failureOf(reply);
    expect([failure.type.code, failure.retryable]).toEqual([code, retryable]);
  });

  it.each([
    ['brackets', `${'['.repeat(4_000)}${']'.repeat(4_000)}`],
    ['empty objects', `[${'{},'.repeat(3_000)}{}]`],
    ['half of a deep answer', '{"result":['.repeat(800)],
  ])('does not parse many %s', async (_, body) => {
    const failure = await failureOf({ body });
    expect(failure).toMatchObject({ type: { code: 'garbage' } });
    expect(failure.message).toContain('nests too deep, or holds too many values');
  });

  it('takes no more of a body than it may, however small it came', async () => {
    const body = gzipSync(Buffer.alloc(2 ** 24, ' '));
    expect(body.length).toBeLessThan(20_000);
    const failure = await failureOf({ headers: { 'content-encoding': 'gzip' }, body });
    expect(failure).toMatchObject({ type: { code: 'tooLarge' } });
  });

  it('goes single when a batch is refused with a status', async () => {
    await using server = await startFakeServer({
      http: (body) => (body.startsWith('[') ? { status: 400, body: 'no batches' } : { body: echo(body) }),
    });
    const upstream = makeUpstream(server.http);
    expect(await ask(upstream, 3)).toEqual(numbers(3));
    expect(upstream.batchCalls).toBe(1);
  });

  it.each<[string, Reply, number]>([
    ['Retry-After', { status: 429, headers: { 'retry-after': '7' }, body: '' }, 7_000],
    ['backoff_seconds', rpc(-32005, 'daily', { rate: { backoff_seconds: 30 } }), 30_000],
    ['words', rpc(429, 'rate limit, try again in 250ms'), 250],
    ['nothing', { status: 429, body: '' }, 1_000],
    ['more than we wait', { status: 429, headers: { 'retry-after': '86400' }, body: '' }, 60_000],
  ])('pauses for as long as a rate limit says with %s', async (_, limit, ms) => {
    await using server = await startFakeServer({
      http: (body, at) => (at === 0 ? limit : { body: echo(body) }),
    });
    const clock = new ManualClock();
    const upstream = makeUpstream(server.http, {}, { clock });
    await rejection(upstream.request('echo', [1]));
    clock.advance(ms - 1);
    expect(await rejection(upstream.request('echo', [2]))).toMatchObject({
      type: { code: 'rateLimited', retryAfterMs: 1 },
    });
    clock.advance(1);
    expect(await upstream.request('echo', [3])).toBe(3);
    expect(server.received).toHaveLength(2);
  });

  it('keeps credentials out of names and errors, and sends them as HTTP has it', async () => {
    const sent: unknown[] = [];
    await using server = await startFakeServer({
      http: (_body, _at, headers) => {
        sent.push(headers.authorization);
        return rpc(-32000, 'bad key s3cretkey for hunter22');
      },
    });
    const url = server.http.replace('//', '//user01:hunter22@');
    const upstream = makeUpstream(`${url}/v2/s3cretkey?token=t0ken99`);
    const failure = (await rejection(upstream.request('eth_x', []))) as SourceError;
    for (const secret of ['user01', 'hunter22', 's3cretkey', 't0ken99']) {
      expect(`${upstream.name} ${failure.message} ${failure.stack}`).not.toContain(secret);
    }
    expect(sent).toEqual([`Basic ${Buffer.from('user01:hunter22').toString('base64')}`]);
  });
});
