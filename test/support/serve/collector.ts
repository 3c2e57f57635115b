import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as OTLP has it in JSON. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code?: number };
}

interface Posted {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[];
  }[];
}

/** For tests only: takes what is posted to it as a collector of traces does. */
export interface Collector extends AsyncDisposable {
  readonly url: string;
  /** All that came, as it came. */
  readonly texts: string[];
  spans(): readonly ReceivedSpan[];
}

/** Starts one on loopback; `status` is what it answers, if it does. */
export async function startCollector(status: number | 'never' = 200): Promise<Collector> {
  const texts: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      texts.push(`${request.url} ${JSON.stringify(request.headers)}\n${Buffer.concat(chunks).toString()}`);
      if (status !== 'never') response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    texts,
    spans: () =>
      texts.flatMap((text) => {
        const posted = JSON.parse(text.slice(text.indexOf('\n') + 1)) as Posted;
        return posted.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
      }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** What a span says of a thing. */
export function attributeOf(span: ReceivedSpan | undefined, key: string): unknown {
  return Object.values(span?.attributes.find((attribute) => attribute.key === key)?.value ?? {})[0];
}
