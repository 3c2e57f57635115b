import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, ListenOptions, Socket } from 'node:net';
import { andThen } from '../../primitives/awaitable.ts';
import { credentialOf } from '../auth/authenticator.ts';
import type { Gate } from '../auth/gate.ts';
import { Answerer, type AnswererModules } from '../dispatch/answerer.ts';
import { AccessPolicy } from '../limits/access.ts';
import { ClientAddresses, FORWARDED_HEADER } from '../limits/client-address.ts';
import { ClientConnections, refuseConnection } from '../limits/client-connections.ts';
import type { ClientMemory } from '../limits/client-memory.ts';
import { addressOf } from '../limits/connection.ts';
import { type ConnectionBudget, gateConnections } from '../limits/connection-budget.ts';
import { type WebSocketModules, WsServer, wantsWebSocket } from '../ws/server.ts';
import { Compressor } from './compression.ts';
import { HttpEndpoint } from './endpoint.ts';
import { PlainFront } from './plain-front.ts';
import { refusalText, wholeText } from './refusal-text.ts';
import { ResponseHeads } from './response-head.ts';

export interface HttpServerOptions {
  /** `hybrid` reads plain requests itself and leaves the others to node:http; the answers are the same. */
  readonly front: 'hybrid' | 'node';
  readonly host: string;
  readonly port: number;
  /** Several threads listen on one port; the kernel spreads connections over them. */
  readonly reusePort: boolean;
  readonly maxBodyBytes: number;
  /** Of which one client may have half. */
  readonly maxConnections: number;
  /** Requests of all connections being worked on at the same time, of which one client may have half. */
  readonly maxInFlight: number;
  readonly headersTimeoutMs: number;
  /** Whether requests are traced: then plain ones are read for their trace, too. */
  readonly readsTraceparent?: boolean;
  /** For the whole request to arrive. */
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** What closing waits for before it cuts connections. */
  readonly drainTimeoutMs: number;
  /** Browsers of any origin may read: right for what needs no credential. */
  readonly allowAnyOrigin: boolean;
  /** Further names by which a listener on loopback may be asked, and whose pages may ask one that not every page may. */
  readonly allowedHosts?: readonly string[];
  /** Whether clients on this machine are held to what one client may have of the connections. */
  readonly limitLoopback?: boolean;
  /** Certificate and key as PEM; with them, only TLS is spoken. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Answers above this size are compressed for clients that take them so; 0 is none. Default: 0. */
  readonly compressAbove?: number;
}

export interface HttpServerModules extends AnswererModules {
  readonly memory: ClientMemory;
  /** Asks for keys; without it, nobody needs one. */
  readonly gate?: Gate | undefined;
  /** Who clients are behind proxies; without it, proxies are clients like others. */
  readonly addresses?: ClientAddresses | undefined;
  /** Without it, nothing is upgraded. */
  readonly websocket?: WebSocketModules;
  /** What all listeners of the process share. */
  readonly connections?: ConnectionBudget | undefined;
}

/** A listener that serves JSON-RPC. */
export interface HttpServer {
  readonly address: AddressInfo;
  /** Has new connections get another certificate. */
  renew(tls: HttpServerOptions['tls']): void;
  /** Closes the connections of those who may not ask any more. */
  recheck(): void;
  /** Stops listening, lets requests under way finish, then closes. */
  close(): Promise<void>;
}

const CHECK_INTERVAL_MS = 1_000;
/** Starts one HTTP listener. */
export async function createHttpServer(
  options: HttpServerOptions,
  modules: HttpServerModules,
): Promise<HttpServer> {
  const answerer = new Answerer(options, modules);
  const heads = new ResponseHeads(options);
  const { host, allowedHosts = [], allowAnyOrigin } = options;
  const access = new AccessPolicy({ host, allowedHosts, anyOrigin: allowAnyOrigin });
  const { websocket, memory, gate, onRefused = () => undefined, addresses = new ClientAddresses() } = modules;
  const compressor = new Compressor({ aboveBytes: options.compressAbove ?? 0 });
  const shared = { answerer, heads, memory, access, gate, addresses, compressor };
  const endpoint = new HttpEndpoint(options, { ...shared, onRefused });
  const streams = websocket && new WsServer(options.maxBodyBytes, { ...websocket, ...shared });
  const { tls } = options;
  const httpOptions = {
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: options.keepAliveTimeoutMs,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    maxHeaderSize: 16_384,
    noDelay: true,
    shouldUpgradeCallback: (request: IncomingMessage) => streams !== undefined && wantsWebSocket(request),
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
    endpoint.serve(request, response);
  const secure =
    tls && createTlsServer({ ...httpOptions, ...tls, handshakeTimeout: options.headersTimeoutMs }, onRequest);
  const server: Server | TlsServer = secure ?? createServer(httpOptions, onRequest);
  server.maxConnections = options.maxConnections;
  server.on('drop', () => onRefused('connections'));
  server.on(secure ? 'secureConnection' : 'connection', (socket: Socket) => endpoint.connect(socket));
  server.on('upgrade', (request, socket, head) => {
    endpoint.leave(request.socket);
    const refused = access.refusal(request.headers) ?? (answerer.draining ? 'draining' : undefined);
    if (refused !== undefined) onRefused(refused);
    if (refused !== undefined && refused !== 'draining') {
      socket.end(refusalText(heads, refused));
      return;
    }
    // While it is found out who that is, nobody else hears that the connection broke.
    const onError = (): unknown => socket.destroy();
    socket.on('error', onError);
    void andThen(gate?.admit(credentialOf(request.headersDistinct, request.url)), (principal) => {
      const client = addresses.of(addressOf(request.socket), request.headers[FORWARDED_HEADER]?.toString());
      const isKnown = gate === undefined || principal !== undefined;
      const refusal = isKnown ? answerer.refuseUpgrade(client, principal) : answerer.unauthorized();
      if (refusal !== undefined) {
        void refusal.then((answer) => socket.end(wholeText(heads, answer)));
        return;
      }
      socket.off('error', onError);
      streams?.upgrade(request, socket, head, { principal, address: client });
    });
  });
  const front =
    // What is encrypted, node:http reads: its bytes do not come straight off the socket.
    options.front === 'hybrid' && secure === undefined
      ? new PlainFront(server, { ...options, checkIntervalMs: CHECK_INTERVAL_MS }, shared)
      : undefined;
  const places = new ClientConnections(options, addresses);
  gateConnections(server, (socket) => {
    if (modules.connections?.admit(socket) === false) {
      onRefused('descriptors');
      socket.destroy();
      return false;
    }
    if (places.admit(socket)) return true;
    onRefused('client_connections');
    if (secure === undefined) refuseConnection(socket);
    else socket.destroy();
    return false;
  });
  await listen(server, { host: options.host, port: options.port, reusePort: options.reusePort });
  const address = server.address() as AddressInfo;
  access.boundTo(address.address);
  return {
    address,
    renew: (renewed) => {
      if (renewed !== undefined) secure?.setSecureContext(renewed);
    },
    recheck: () => streams?.recheck(),
    close: async () => {
      answerer.drain();
      await close(server, [front, streams], options.drainTimeoutMs);
      front?.stop();
    },
  };
}

function listen(server: Server | TlsServer, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** What has connections of the server's that node:http does not know of. */
interface Front {
  drain(): void;
  destroyAll(): void;
}

async function close(
  server: Server | TlsServer,
  fronts: readonly (Front | undefined)[],
  drainTimeoutMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  for (const front of fronts) front?.drain();
  const timer = setTimeout(() => {
    server.closeAllConnections();
    for (const front of fronts) front?.destroyAll();
  }, drainTimeoutMs);
  await closed;
  clearTimeout(timer);
}
