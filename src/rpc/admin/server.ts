import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BlockRef } from '../../chain/outcome.ts';
import type { Endpoint } from '../../config/parsers.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import { AccessPolicy } from '../limits/access.ts';
import { refuseSocket } from './pass-rpc.ts';
import { type DashboardModules, DashboardRoutes, foreignPage, isForMachines } from './routes.ts';

/** The names that alerts are written for. */
export const NOT_READY_REASONS = [
  ...(['confirmed lag', 'pre-confirmed age', 'store', 'upstream'] as const),
  ...(['rulesTooOld', 'worker', 'draining'] as const),
] as const;

/** One thing that is wrong, by the name that alerts are written for, and what an operator would ask next. */
export interface NotReady {
  readonly reason: (typeof NOT_READY_REASONS)[number];
  readonly detail?: string;
}

/** Whether requests should be sent here: they should when nothing speaks against it (B14). */
export interface Readiness {
  readonly reasons: readonly NotReady[];
  readonly head?: BlockRef;
  /** How far the head is behind: the best upstream, in blocks; the clock, in seconds. */
  readonly lag?: { readonly blocks?: number; readonly seconds?: number };
  /** The upstream whose chain is followed. */
  readonly leader?: string;
  /** What an operator should know, though requests can be sent here. */
  readonly warnings?: readonly string[];
}

export interface AdminModules {
  /** Metrics in Prometheus' text format. */
  readonly metrics: () => Promise<string>;
  readonly readiness: () => Awaitable<Readiness>;
  /** Further names by which it may be asked on loopback, and whose pages may ask it. */
  readonly allowedHosts?: readonly string[];
  /** What the page at `/` shows; without it there is none. */
  readonly dashboard?: DashboardModules;
}

export interface AdminServer {
  readonly endpoint: Endpoint;
  close(): Promise<void>;
}

/** More than dashboards and their requests can take together: health can be asked whatever they do. */
const MAX_CONNECTIONS = 128;

/** Starts the listener for whoever runs the node: health, metrics and the dashboard, never for clients (B14). */
export async function createAdminServer(endpoint: Endpoint, modules: AdminModules): Promise<AdminServer> {
  const { allowedHosts = [], dashboard } = modules;
  const access = new AccessPolicy({ host: endpoint.host, allowedHosts, anyOrigin: false });
  const page = dashboard && new DashboardRoutes(dashboard);
  const server = createServer({ requestTimeout: 5_000, maxHeaderSize: 16_384 }, (request, response) => {
    const answer = (status: number, text: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, { 'content-type': type }).end(text);
    };
    const refused = access.refusal(request.headers);
    if (refused !== undefined)
      return answer(403, `this ${refused} is not allowed here, see --allowed-hosts\n`);
    const [path = ''] = (request.url ?? '').split('?', 1);
    if (page !== undefined && !isForMachines(path)) {
      const reason = foreignPage(access, request.headers);
      if (reason !== undefined) return answer(403, `${reason}\n`);
      if (page.take(path, request, response)) return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, 'method not allowed\n');
    switch (path) {
      case '/livez':
        return answer(200, 'ok\n');
      case '/readyz':
        void readinessOf(modules).then(({ status, body }) => answer(status, body, 'application/json'));
        return;
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
  server.on('upgrade', (request, socket) => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    const { headers } = request;
    if (access.refusal(headers) !== undefined || foreignPage(access, headers) !== undefined)
      return refuseSocket(socket, 403);
    if (page === undefined) return refuseSocket(socket, 404);
    page.passer.upgrade(request, socket, path);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(endpoint.port, endpoint.host);
  await once(server, 'listening');
  const { address, port } = server.address() as AddressInfo;
  access.boundTo(address);
  return {
    endpoint: { host: endpoint.host, port },
    close: async () => {
      page?.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The same where it cannot be found out: whatever it is read from is what failed; its words are for the log. */
export async function knownReadiness(readiness: AdminModules['readiness']): Promise<Readiness> {
  try {
    return await readiness();
  } catch {
    return { reasons: [{ reason: 'store', detail: 'the state of the node cannot be read' }] };
  }
}

async function readinessOf({ readiness }: AdminModules): Promise<{ status: number; body: string }> {
  const { reasons, head, lag, leader, warnings } = await knownReadiness(readiness);
  const ready = reasons.length === 0;
  return {
    status: ready ? 200 : 503,
    body: `${JSON.stringify({ ready, ...(!ready && { reasons }), head, lag, leader, warnings })}\n`,
  };
}
