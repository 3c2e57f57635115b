import { once } from 'node:events';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import type { Endpoint } from '../../config/parsers.ts';
import type { CommandOptions } from '../../config/table.ts';
import { OTHER_FILES, openFilesLimit } from '../../telemetry/open-files.ts';
import { Section } from './report.ts';
import { formatBytes } from './store.ts';

const LISTENERS = ['public', 'dedicated', 'admin'] as const;
/** An account or slot in hot state, with its place in the tables around it: a rough figure. */
const ENTRY_BYTES = 200;
const OLDEST_NODE = 24;

/** What the machine gives to a serve with these options. */
export async function examineHost(options: CommandOptions<'doctor'>): Promise<Section> {
  const section = new Section('this machine');
  checkNode(section);
  section.ok('cores', `${availableParallelism()}, and ${options.threads} serving threads`);
  checkMemory(options, section);
  checkFiles(options, section);
  for (const listener of LISTENERS) {
    const endpoint = options[listener];
    if (endpoint !== 'off') await checkPort(listener, endpoint, section);
  }
  return section;
}

function checkNode(section: Section): void {
  const { version } = process;
  const major = Number(/^v(\d+)/.exec(version)?.[1]);
  if (major >= OLDEST_NODE) section.ok('node', version);
  else section.fail('node', version, `install Node.js ${OLDEST_NODE} or newer`);
}

function checkMemory(options: CommandOptions<'doctor'>, section: Section): void {
  const { hotStateEntries, codeCacheBytes, renderCacheBytes, threads } = options;
  const need = 2 * hotStateEntries * ENTRY_BYTES + codeCacheBytes + renderCacheBytes * threads;
  const available = process.availableMemory();
  const detail = `${formatBytes(available)} available, full caches take about ${formatBytes(need)}`;
  if (need < available) section.ok('memory', detail);
  else
    section.warn(
      'memory',
      detail,
      'lower --hot-state-entries, --code-cache-bytes or --render-cache-bytes, or add memory',
    );
}

function checkFiles(options: CommandOptions<'doctor'>, section: Section): void {
  const limit = openFilesLimit();
  if (limit === undefined) return;
  const listeners = [options.public, options.dedicated].filter((endpoint) => endpoint !== 'off').length;
  const need = options.maxConnections * options.threads * listeners + OTHER_FILES;
  const detail = `${limit} may be open, all connections at once take ${need}`;
  if (limit >= need) section.ok('open files', detail);
  else section.warn('open files', detail, `raise it (ulimit -n ${need}), or lower --max-connections`);
}

async function checkPort(listener: string, endpoint: Endpoint, section: Section): Promise<void> {
  const what = `${listener} port`;
  const where = `${endpoint.host}:${endpoint.port}`;
  const server = createServer((socket) => socket.destroy());
  try {
    await once(server.listen({ ...endpoint, exclusive: true }), 'listening');
    section.ok(what, endpoint.port === 0 ? `any free port of ${endpoint.host}` : `${where} is free`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') {
      section.warn(
        what,
        `${where} is in use`,
        `by a serve that runs already, or choose another: --${listener}`,
      );
    } else section.fail(what, message, `choose an address that this user may use: --${listener}`);
  } finally {
    if (server.listening) await once(server.close(), 'close');
  }
}
