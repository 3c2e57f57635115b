import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attributeOf, type Collector, startCollector } from '../support/serve/collector.ts';
import { type OurNode, startOurNode } from '../support/servers/node.ts';
import { until } from '../support/servers/process.ts';
import { call, curl } from './curl.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `traceparent: 00-${TRACE_ID}-b7ad6b7169203331-01`;
const SECRET = 's3cret-s3cret-s3cret';

describe('traces, where a collector is named', () => {
  let node: OurNode | undefined;
  let collector: Collector | undefined;
  beforeAll(async () => {
    collector = await startCollector();
    node = await startOurNode(['--otlp', collector.url, '--trace-ratio', '0', '--threads', '1']);
  });
  afterAll(async () => {
    await node?.stop();
    await collector?.[Symbol.asyncDispose]();
  });
  const started = (): { node: OurNode; collector: Collector } => {
    if (node === undefined || collector === undefined) throw new Error('the node has not started');
    return { node, collector };
  };

  it.each([
    ['plain', []],
    // A connection that is to be closed is not plain.
    ['that node:http reads', ['connection: close']],
  ])('have the span of a request %s, as part of its client’s trace', async (_, more) => {
    const {
      node: { dedicatedUrl },
      collector: { spans },
    } = started();
    const before = spans().length;
    const { status } = await curl(dedicatedUrl, {
      headers: [TRACEPARENT, ...more],
      body: call('eth_blockNumber'),
    });
    expect(status).toBe(200);
    const span = await until('the span', () => spans()[before]);
    expect(span).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: 'b7ad6b7169203331',
      name: 'eth_blockNumber',
    });
    expect(Number(attributeOf(span, 'chain_query.head'))).toBe(0x36);
    expect(attributeOf(span, 'chain_query.listener')).toBe('dedicated');
  });

  it('have nothing of credentials, params, names that clients made up, or of requests that were not chosen', async () => {
    const {
      node: { publicUrl, dedicatedUrl },
      collector: { spans, texts },
    } = started();
    const before = spans().length;
    await curl(publicUrl, { headers: [TRACEPARENT], body: call('eth_chainId') });
    await curl(dedicatedUrl, { body: call('eth_chainId') });
    const headers = [
      TRACEPARENT,
      `authorization: Bearer ${SECRET}`,
      `x-api-key: ${SECRET}`,
      `cookie: a=${SECRET}`,
      `x-request-id: ${SECRET}`,
    ];
    const body = [
      call(SECRET, SECRET),
      call('eth_getBalance', SECRET),
      call('web3_sha3', `0x${Buffer.from(SECRET).toString('hex')}`),
    ];
    await curl(`${dedicatedUrl}/${SECRET}?key=${SECRET}`, { headers, body });
    const span = await until('the span', () => spans()[before]);
    expect(spans()).toHaveLength(before + 1);
    expect(span.name).toBe('batch');
    expect(attributeOf(span, 'chain_query.methods')).toEqual({
      values: [{ stringValue: 'unknown' }, { stringValue: 'eth_getBalance' }, { stringValue: 'web3_sha3' }],
    });
    expect(texts.join()).not.toContain(SECRET);
    expect(texts.join()).not.toContain(Buffer.from(SECRET).toString('hex'));
  });
});

it('sends nothing where no collector is named, whatever the environment says', async () => {
  await using collector = await startCollector();
  process.env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] = collector.url;
  try {
    const node = await startOurNode(['--trace-ratio', '1', '--threads', '1']);
    const headers = [TRACEPARENT];
    expect((await curl(node.dedicatedUrl, { headers, body: call('eth_chainId') })).status).toBe(200);
    // With its end, whatever waited would be sent.
    await node.stop();
    expect(collector.texts).toEqual([]);
  } finally {
    delete process.env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  }
});
