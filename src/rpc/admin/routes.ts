import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { Awaitable } from '../../primitives/hex.ts';
import type { AccessPolicy } from '../limits/access.ts';
import { Assets, PAGE_HEADERS } from './assets.ts';
import { EventStream, eventText } from './event-stream.ts';
import { RpcPasser, type RpcTarget } from './pass-rpc.ts';
import type { DashboardState } from './state.ts';

export interface DashboardModules {
  readonly state: () => Awaitable<DashboardState>;
  /** Has what happens from now on sent to a stream, until it is disposed of. */
  readonly watch: (stream: Pick<EventStream, 'send' | 'clients'>) => Disposable;
  /** The endpoints that its playground may ask. */
  readonly targets: () => Readonly<Record<string, RpcTarget>>;
  /** Where its files are; left out, where the build puts them. */
  readonly folder?: string;
}

/** The dashboard's part of the admin listener: its files, its state, and the way to endpoints. */
export class DashboardRoutes {
  readonly passer: RpcPasser;
  readonly #modules: DashboardModules;
  readonly #assets: Assets;
  readonly #stream = new EventStream();
  readonly #watching: Disposable;

  constructor(modules: DashboardModules) {
    this.#modules = modules;
    this.#assets = new Assets(modules.folder);
    this.passer = new RpcPasser(modules.targets);
    this.#watching = modules.watch(this.#stream);
  }

  /** Answers what is its own; false for all else. */
  take(path: string, request: IncomingMessage, response: ServerResponse): boolean {
    if (request.method === 'POST' && path.startsWith('/rpc/')) {
      this.passer.pass(request, response, path);
      return true;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') return false;
    switch (path) {
      case '/dashboard/state':
        void this.#begin(response, (state) => {
          const headers = {
            ...PAGE_HEADERS,
            'content-type': 'application/json',
            'cache-control': 'no-store',
          };
          response.writeHead(200, headers).end(`${JSON.stringify(state)}\n`);
        });
        return true;
      case '/dashboard/events':
        if (request.method === 'HEAD') return false;
        void this.#begin(response, (state) => {
          if (this.#stream.take(response, eventText('state', state))) return;
          response.writeHead(503, { 'content-type': 'text/plain' }).end('too many dashboards are open\n');
        });
        return true;
      default:
        return this.#assets.answer(path, request, response);
    }
  }

  close(): void {
    this.#watching[Symbol.dispose]();
    this.passer.close();
  }

  async #begin(response: ServerResponse, answer: (state: DashboardState) => void): Promise<void> {
    let state: DashboardState;
    try {
      state = await this.#modules.state();
    } catch {
      response.writeHead(503, { 'content-type': 'text/plain' }).end('the state is not available\n');
      return;
    }
    answer(state);
  }
}

/** What monitoring asks for, by whatever name it knows this machine. */
export function isForMachines(path: string): boolean {
  return path === '/livez' || path === '/readyz' || path === '/metrics';
}

/**
 * Why a request may not have the dashboard, which shows more than health and passes requests on: its name is one that a stranger could
 * have pointed here (DNS rebinding), wherever the listener is bound to; or another site's page asks. An address in
 * `Host` is safe: nobody can point that elsewhere.
 */
export function foreignPage(access: AccessPolicy, headers: IncomingHttpHeaders): string | undefined {
  const { host = '' } = headers;
  const address = host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1');
  if (isIP(address) === 0 && !access.allowsHost(host))
    return 'this host is not allowed here, see --allowed-hosts';
  const site = headers['sec-fetch-site'];
  const isNavigation = headers['sec-fetch-mode'] === 'navigate';
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isNavigation)
    return 'pages of other sites may not ask here';
  return undefined;
}
