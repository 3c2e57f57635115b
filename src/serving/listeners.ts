import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { Endpoint } from '../config/parsers.ts';
import { type ProfileOptions, profilesOf } from '../config/profiles.ts';
import type { CommandOptions } from '../config/table.ts';
import type { Logger } from '../telemetry/logger.ts';
import { connectionsWithin, openFilesLimit } from '../telemetry/open-files.ts';
import type { Endpoints } from './messages.ts';

/** The listeners that were asked for. */
export function wantedEndpoints(options: ProfileOptions): Endpoints {
  const wanted: Record<string, Endpoint> = {};
  for (const { name, listen } of profilesOf(options)) if (listen !== 'off') wanted[name] = listen;
  return wanted;
}

/**
 * Workers share a port by SO_REUSEPORT, which would also join the port of another node, or of our other listener,
 * and mix their answers. A plain bind is refused where anybody listens.
 */
export async function expectFree(endpoints: Endpoints): Promise<void> {
  const held: Server[] = [];
  try {
    for (const [listener, endpoint] of Object.entries(endpoints)) {
      if (endpoint.port === 0) continue;
      const server = createServer((socket) => socket.destroy()).listen({ ...endpoint, exclusive: true });
      held.push(server);
      await once(server, 'listening').catch((cause: unknown) => {
        throw cannotListen(listener, endpoint, cause);
      });
    }
  } finally {
    const bound = held.filter(({ listening }) => listening);
    await Promise.all(bound.map((server) => once(server.close(), 'close')));
  }
}

/** How many connections there may be: as many as were asked for, or fewer where the system allows fewer open files. */
export function connectionLimit(
  { threads, maxConnections, ...options }: CommandOptions<'serve'>,
  logger: Logger,
): number {
  const openFiles = openFilesLimit();
  const wanted = maxConnections * threads * Object.keys(wantedEndpoints(options)).length;
  const limit = connectionsWithin(openFiles);
  if (limit < wanted) {
    const fields = { openFiles, connections: limit, wanted };
    logger.info(fields, 'fewer connections than --max-connections asks for: raise the limit of open files');
  }
  return Math.min(limit, wanted);
}

/** The error of a listener whose endpoint cannot be used. */
export function cannotListen(listener: string, endpoint: Endpoint, cause: unknown): Error {
  return new Error(`the ${listener} listener cannot use ${formatEndpoint(endpoint)}`, { cause });
}

/** `host:port`, as a URL has it. */
export function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
