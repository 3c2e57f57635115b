import {
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Counter, Registry } from 'prom-client';
import type { Logger } from './logger.ts';
import { countersIn } from './metrics.ts';

export interface TracingOptions {
  /** Where spans are posted to, by OTLP over HTTP as JSON. */
  readonly url: string;
  /** Share of requests that are traced, of those whose client does not decide. */
  readonly ratio: number;
  readonly version: string;
}

export interface TracingModules {
  readonly registry: Registry;
  readonly logger: Pick<Logger, 'warn'>;
}

/** A request that was answered. */
export interface TracedRequest {
  /** When it had arrived, by `performance.now()`. */
  readonly began: number;
  /** The header of that name, as it came. */
  readonly traceparent: string | undefined;
  readonly status: number;
  /** The first error of its calls. */
  readonly errorCode: number | undefined;
  /** The head that it was answered from. */
  readonly head: number | undefined;
  /** The names of its calls' methods, which the node knows: nothing that a client made up. */
  readonly methods: () => readonly string[];
}

const MAX_QUEUED_SPANS = 2_048;
const MAX_BATCH_SPANS = 512;
const BATCH_MS = 1_000;
const EXPORT_TIMEOUT_MS = 5_000;
/** The flag of `traceparent`. */
const SAMPLED = 1;
/** What the SDK calls success. */
const EXPORTED = 0;
/** How long the end of the node waits for the last spans. */
const CLOSE_MS = 2_000;
/** Names of methods in one span: a batch may have a thousand calls. */
const MAX_METHODS = 32;
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/**
 * Spans of requests, one each, made when it has been answered: most are not traced, and cost a random number. Loaded only
 * where it is asked for. What it holds is bounded: spans that the collector does not take in time are dropped.
 */
export class Tracing {
  readonly #ratio: number;
  readonly #logger: TracingModules['logger'];
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #spans: Counter;

  constructor({ url, ratio, version }: TracingOptions, { registry, logger }: TracingModules) {
    this.#ratio = ratio;
    this.#logger = logger;
    this.#spans = countersIn(registry)(
      'trace_spans_total',
      'Spans made of requests, and whether the collector took them; others wait, or were dropped.',
      ['result'],
    );
    for (const result of ['made', 'sent', 'failed']) this.#spans.inc({ result }, 0);
    const exporter = this.#counting(new OTLPTraceExporter({ url, timeoutMillis: EXPORT_TIMEOUT_MS }));
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': 'chain-query', 'service.version': version }),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter,
          maxQueueSize: MAX_QUEUED_SPANS,
          maxExportBatchSize: MAX_BATCH_SPANS,
          scheduledDelayMillis: BATCH_MS,
          exportTimeoutMillis: EXPORT_TIMEOUT_MS,
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer('chain-query', version);
  }

  /**
   * What to call for each request that a listener has answered. Clients that need a key decide by the flag of their
   * `traceparent` whether it is traced; of anybody else, only the name of the trace is taken: they could have us trace everything.
   */
  of(listener: string, trustsClients: boolean): (request: TracedRequest) => void {
    return (request) => {
      const parent = request.traceparent === undefined ? undefined : contextOf(request.traceparent);
      const isDecided = trustsClients && parent !== undefined;
      const isTraced = isDecided ? parent.isSampled : Math.random() < this.#ratio;
      if (isTraced) this.#trace(listener, request, parent?.context ?? ROOT_CONTEXT);
    };
  }

  /** Sends what waits, if that is soon done. */
  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, CLOSE_MS);
    // A collector that is away must not keep the node from ending.
    const sent = this.#provider
      .shutdown()
      .catch((err: unknown) => this.#logger.warn({ err }, 'the last traces were not sent'));
    await Promise.race([sent, promise]);
    clearTimeout(timer);
  }

  #trace(listener: string, request: TracedRequest, context: Context): void {
    const { began, status, errorCode, head } = request;
    const methods = request.methods();
    const [method = 'unknown'] = methods;
    const isBatch = methods.length > 1;
    const span = this.#tracer.startSpan(
      isBatch ? 'batch' : method,
      {
        kind: SpanKind.SERVER,
        startTime: performance.timeOrigin + began,
        attributes: {
          'rpc.system': 'jsonrpc',
          ...(isBatch ? {} : { 'rpc.method': method }),
          'http.response.status_code': status,
          ...(errorCode !== undefined && { 'rpc.jsonrpc.error_code': errorCode }),
          ...(head !== undefined && { 'chain_query.head': head }),
          'chain_query.listener': listener,
          'chain_query.calls': methods.length,
          'chain_query.methods': [...new Set(methods)].slice(0, MAX_METHODS),
        },
      },
      context,
    );
    if (errorCode !== undefined || status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(performance.timeOrigin + performance.now());
    this.#spans.inc({ result: 'made' });
  }

  /** Counts what becomes of spans: the SDK tells nobody. */
  #counting(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, onResult) =>
        exporter.export(spans, (result) => {
          const code: number = result.code;
          this.#spans.inc({ result: code === EXPORTED ? 'sent' : 'failed' }, spans.length);
          onResult(result);
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    };
  }
}

/** The trace that a client's request is part of; what is malformed is none. */
function contextOf(traceparent: string): { context: Context; isSampled: boolean } | undefined {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(traceparent) ?? [];
  // Spans of ours are only made where they are wanted.
  const spanContext = { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
  if (!isSpanContextValid(spanContext)) return undefined;
  const context = trace.setSpanContext(ROOT_CONTEXT, spanContext);
  return { context, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}
