import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Endpoint } from '../config/parsers.ts';

export interface AdminModules {
  /** Metrics in Prometheus' text format. */
  readonly metrics: () => Promise<string>;
  /** Why no request should be sent here; undefined when all is well. */
  readonly notReady: () => string | undefined;
}

export interface AdminServer {
  readonly endpoint: Endpoint;
  close(): Promise<void>;
}

/** Starts the listener for whoever runs the node: health and metrics, never for clients (B14). */
export async function createAdminServer(endpoint: Endpoint, modules: AdminModules): Promise<AdminServer> {
  const server = createServer({ requestTimeout: 5_000, maxHeaderSize: 16_384 }, (request, response) => {
    const answer = (status: number, text: string): void => {
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text);
    };
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, 'method not allowed\n');
    const [path = ''] = (request.url ?? '').split('?', 1);
    switch (path) {
      case '/livez':
        return answer(200, 'ok\n');
      case '/readyz': {
        const reason = modules.notReady();
        return reason === undefined ? answer(200, 'ok\n') : answer(503, `${reason}\n`);
      }
      case '/metrics':
        modules.metrics().then(
          (text) => answer(200, text),
          () => answer(503, 'metrics are not available\n'),
        );
        return;
      default:
        return answer(404, 'not found\n');
    }
  });
  server.maxConnections = 64;
  server.listen(endpoint.port, endpoint.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: { host: endpoint.host, port },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
