import { Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import { attributeOf, startCollector } from '../../test/support/serve/collector.ts';
import { createLogger } from './logger.ts';
import { type TracedRequest, Tracing } from './tracing.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';
const SAMPLED = `00-${TRACE_ID}-${SPAN_ID}-01`;
const NOT_SAMPLED = `00-${TRACE_ID}-${SPAN_ID}-00`;

function requestWith(changes: Partial<TracedRequest> = {}): TracedRequest {
  return {
    began: performance.now() - 25,
    ...{ traceparent: undefined, status: 200, errorCode: undefined, head: 54, methods: () => ['eth_call'] },
    ...changes,
  };
}

function open(url: string, ratio: number) {
  const registry = new Registry();
  const counts = async (): Promise<Record<string, number>> => {
    const metric = await registry.getSingleMetric('chain_query_trace_spans_total')?.get();
    return Object.fromEntries(metric?.values.map(({ labels, value }) => [labels['result'], value]) ?? []);
  };
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(line) });
  return { tracing: new Tracing({ url, ratio, version: '1.2.3' }, { registry, logger }), counts, lines };
}

it('sends a span of each request, with its method, time, status and head', async () => {
  await using collector = await startCollector();
  const { tracing, counts } = open(collector.url, 1);
  const trace = tracing.of('public', false);
  trace(requestWith());
  trace(requestWith({ errorCode: -32_000, methods: () => ['eth_call', 'unknown', 'eth_call'] }));
  await tracing.close();
  const [call, batch, ...others] = collector.spans();
  expect(others).toEqual([]);
  expect(call).toMatchObject({ name: 'eth_call', kind: 2 });
  const ms = Number(BigInt(call?.endTimeUnixNano ?? 0) - BigInt(call?.startTimeUnixNano ?? 0)) / 1e6;
  expect(ms).toBeGreaterThanOrEqual(24);
  expect(ms).toBeLessThan(5_000);
  expect(Math.abs(Number(call?.startTimeUnixNano) / 1e6 - Date.now())).toBeLessThan(60_000);
  expect(attributeOf(call, 'rpc.method')).toBe('eth_call');
  expect(attributeOf(call, 'chain_query.listener')).toBe('public');
  expect(Number(attributeOf(call, 'chain_query.head'))).toBe(54);
  expect(Number(attributeOf(call, 'http.response.status_code'))).toBe(200);
  expect(batch).toMatchObject({ name: 'batch', status: { code: 2 } });
  expect(attributeOf(batch, 'chain_query.methods')).toEqual({
    values: [{ stringValue: 'eth_call' }, { stringValue: 'unknown' }],
  });
  expect(Number(attributeOf(batch, 'chain_query.calls'))).toBe(3);
  expect(Number(attributeOf(batch, 'rpc.jsonrpc.error_code'))).toBe(-32_000);
  expect(collector.texts.join()).toContain('"service.name"');
  expect(await counts()).toEqual({ made: 2, sent: 2, failed: 0 });
});

it('goes by what clients with keys say of their traces, and names the trace of the others alone', async () => {
  await using collector = await startCollector();
  const never = open(collector.url, 0);
  never.tracing.of('dedicated', true)(requestWith({ traceparent: SAMPLED }));
  never.tracing.of('dedicated', true)(requestWith());
  never.tracing.of('public', false)(requestWith({ traceparent: SAMPLED }));
  await never.tracing.close();
  expect(collector.spans()).toMatchObject([{ traceId: TRACE_ID, parentSpanId: SPAN_ID }]);
  const always = open(collector.url, 1);
  always.tracing.of('dedicated', true)(requestWith({ traceparent: NOT_SAMPLED }));
  always.tracing.of('public', false)(requestWith({ traceparent: NOT_SAMPLED }));
  await always.tracing.close();
  const others = collector.spans().slice(1);
  expect(others.map((span) => [span.traceId, attributeOf(span, 'chain_query.listener')])).toEqual([
    [TRACE_ID, 'public'],
  ]);
});

it.each([
  `00-${'0'.repeat(32)}-${SPAN_ID}-01`,
  `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
  `01-${TRACE_ID}-${SPAN_ID}-01`,
  `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`,
  `${SAMPLED}, ${SAMPLED}`,
  'anything',
  '',
])('begins a trace of its own where the header is %s', async (traceparent) => {
  await using collector = await startCollector();
  const { tracing } = open(collector.url, 1);
  tracing.of('dedicated', true)(requestWith({ traceparent }));
  await tracing.close();
  const [span] = collector.spans();
  expect(span?.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(span?.traceId).not.toBe(TRACE_ID);
  expect(span?.parentSpanId ?? '').toBe('');
});

it('holds no more spans than its queue, and counts those that the collector does not take', async () => {
  await using collector = await startCollector(400);
  const { tracing, counts, lines } = open(collector.url, 1);
  const trace = tracing.of('public', false);
  for (let request = 0; request < 5_000; request++) trace(requestWith());
  await tracing.close();
  const { made, sent, failed = 0 } = await counts();
  expect([made, sent]).toEqual([5_000, 0]);
  expect(failed).toBeGreaterThan(0);
  expect(failed).toBeLessThanOrEqual(2_048 + 512);
  // And it ends.
  expect(lines.join()).toContain('the last traces were not sent');
});

it('shows the collector the credential that the environment has for it', async () => {
  await using collector = await startCollector();
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'x-collector-key=abc');
  const { tracing } = open(collector.url, 1);
  vi.unstubAllEnvs();
  tracing.of('public', false)(requestWith());
  await tracing.close();
  expect(collector.texts.join()).toContain('"x-collector-key":"abc"');
});

it('ends, though the collector is away or never answers', async () => {
  await using silent = await startCollector('never');
  for (const url of ['http://127.0.0.1:9/v1/traces', silent.url]) {
    const { tracing } = open(url, 1);
    tracing.of('public', false)(requestWith());
    const began = performance.now();
    await tracing.close();
    expect(performance.now() - began).toBeLessThan(4_000);
  }
});
