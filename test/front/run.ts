import { setImmediate } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Dispatcher } from '../../src/rpc/dispatch/dispatcher.ts';
import { PlainConnection } from '../../src/rpc/http/plain-connection.ts';
import { type PlainAccess, readPlainHead } from '../../src/rpc/http/plain-request.ts';
import { createHttpServer, type HttpServer } from '../../src/rpc/http/server.ts';
import { AccessPolicy, HostMemory } from '../../src/rpc/limits/access.ts';
import { testDispatcher, testMemory } from '../support/serve/dispatcher.ts';
import { FakeChain } from '../support/serve/head.ts';
import { type Exchange, exchange, readByEvents } from './exchange.ts';
import { MAX_BODY_BYTES, makeStream, seededRandom } from './streams.ts';

/**
 * The same bytes to two listeners, one with each front: the answers must be the same, byte for byte but for the date.
 * `npm run test:front -- --seed N` repeats a run, `--only I` one stream of it; `--full` has 100,000.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    streams: { type: 'string' },
    full: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});
const seed = Number(values.seed);
const streams = Number(values.streams ?? (values.full ? 100_000 : 20_000));
const CONNECTIONS = 32;

let passed = 0;
let failed = 0;
let working = 0;
let plainRequests = 0;
const ways = new Map<string, number>();
const statuses = new Map<string, number>();

/** Counts what is being worked on; and the plain front's callers wait now and then, which must not be seen. */
function watched(dispatcher: Dispatcher): Pick<Dispatcher, 'handle'> {
  return {
    handle(body, caller) {
      const isPlain = caller instanceof PlainConnection;
      if (isPlain) plainRequests++;
      const answer =
        isPlain && body.length % 3 === 0
          ? setImmediate().then(() => dispatcher.handle(body, caller))
          : dispatcher.handle(body, caller);
      if (!(answer instanceof Promise)) return answer;
      working++;
      return answer.finally(() => {
        working--;
      });
    },
  };
}

/** Nobody waits for a block: what arrives meanwhile would depend on the time. */
async function listen(front: 'hybrid' | 'node', allowAnyOrigin: boolean): Promise<HttpServer> {
  const dispatcher = await testDispatcher(
    { forbidden: new Set(['eth_getBlockReceipts']), atLeastWaitMs: 0 },
    new FakeChain().add(0).add(1).add(2).add(3).add(4),
    () => Promise.resolve({ kind: 'overloaded' }),
  );
  const limitMs = 60_000;
  return createHttpServer(
    {
      front,
      host: '127.0.0.1',
      port: 0,
      reusePort: false,
      maxBodyBytes: MAX_BODY_BYTES,
      maxConnections: 10_000,
      maxInFlight: 10_000,
      headersTimeoutMs: limitMs,
      requestTimeoutMs: limitMs,
      keepAliveTimeoutMs: limitMs,
      drainTimeoutMs: 1_000,
      allowAnyOrigin,
      allowedHosts: ['allowed.example'],
    },
    { memory: testMemory(), dispatcher: watched(dispatcher) },
  );
}

const same = (a: Exchange, b: Exchange): boolean =>
  a.answers === b.answers && a.open === b.open && a.farewell === b.farewell;

const isWorking = (): boolean => working > 0;

/** One listener with the front that is tried, two with node's. */
interface Servers {
  readonly hybrid: HttpServer;
  readonly node: HttpServer;
  readonly events: HttpServer;
  readonly access: PlainAccess;
}

/**
 * Ways to give the same bytes to node:http. When an error comes in the same piece as requests before it, node drops
 * answers, which ones depends on how it was cut: so the hybrid's answers must be those of one of these ways.
 */
const WAYS = {
  asSent: ({ node }: Servers, chunks: readonly Buffer[]) =>
    exchange(node.address.port, chunks, isWorking, 'eager'),
  byBytes: ({ node }: Servers, chunks: readonly Buffer[]) =>
    exchange(node.address.port, singleBytes(Buffer.concat(chunks)), isWorking, 'patient'),
  byEvents: ({ events, access }: Servers, chunks: readonly Buffer[]) => {
    const cut = cutAt(chunks, plainBytes(Buffer.concat(chunks), access));
    return exchange(events.address.port, cut, isWorking, 'patient');
  },
};

/**
 * When an error comes while requests before it are under way, node drops their answers and may keep its own last one to itself:
 * how many is a matter of time. So what was answered must be how the full answers begin, with or without their last.
 */
function isCutShort(cut: Exchange, full: Exchange): boolean {
  if (cut.open || full.open || cut.farewell !== full.farewell) return false;
  const all = full.answers.split(/(?=HTTP\/1\.1 \d+ )/);
  const last = all.pop() ?? '';
  if (!last.startsWith('HTTP/1.1 400')) return false;
  const begins = all.map((_, count) => all.slice(0, count).join(''));
  return [...begins, all.join('')].some((begin) => cut.answers === begin || cut.answers === begin + last);
}

/** Each byte by itself; only runs of one byte, as in long values, stay together. */
function singleBytes(bytes: Buffer): readonly Buffer[] {
  const starts = Array.from(bytes, (byte, at) => (byte === bytes[at - 1] ? -1 : at)).filter((at) => at >= 0);
  return starts.map((start, index) => bytes.subarray(start, starts[index + 1]));
}

/** How many bytes there are before the first request that is not plain. */
function plainBytes(bytes: Buffer, access: PlainAccess): number {
  for (let at = 0; ; ) {
    const head = readPlainHead(bytes, at, MAX_BODY_BYTES, access);
    if (typeof head === 'string') return at;
    at = head.bodyStart + head.bodyLength;
  }
}

function cutAt(chunks: readonly Buffer[], position: number): readonly Buffer[] {
  let start = 0;
  return chunks
    .flatMap((chunk) => {
      const at = position - start;
      start += chunk.length;
      return [chunk.subarray(0, Math.max(at, 0)), chunk.subarray(Math.max(at, 0))];
    })
    .filter(({ length }) => length > 0);
}

async function compare(index: number): Promise<void> {
  const { chunks } = makeStream(seededRandom(Math.imul(seed + 1, 0x9e3779b1) ^ index));
  // Every third to a listener that judges origins, too.
  const servers = index % 3 === 0 ? strict : open;
  const hybrid = await exchange(servers.hybrid.address.port, chunks, isWorking, 'eager');
  for (const [status] of hybrid.answers.matchAll(/HTTP\/1\.1 \d+/g))
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  const seen: Record<string, Exchange> = { hybrid };
  for (const [way, give] of Object.entries(WAYS)) {
    const node = await give(servers, chunks);
    if (same(hybrid, node)) {
      passed++;
      ways.set(way, (ways.get(way) ?? 0) + 1);
      return;
    }
    seen[way] = node;
  }
  const { byBytes } = seen;
  if (byBytes !== undefined && isCutShort(hybrid, byBytes)) {
    passed++;
    ways.set('cut short', (ways.get('cut short') ?? 0) + 1);
    return;
  }
  failed++;
  if (failed > 10 && values.only === undefined) return;
  const sent = chunks.map((chunk) => chunk.toString('latin1').slice(0, 600));
  console.log(`  FAIL stream ${index}: ${JSON.stringify(sent)}`);
  for (const [name, { answers, open, farewell }] of Object.entries(seen)) {
    const words = values.only === undefined ? [...answers.matchAll(/HTTP\/1\.1 \d+/g)].join(', ') : answers;
    console.log(`    ${name.padEnd(9)}${JSON.stringify(words)} ${open ? 'open' : 'closed'} ${farewell}`);
  }
}

async function listenAll(allowAnyOrigin: boolean): Promise<Servers> {
  const events = await listen('node', allowAnyOrigin);
  readByEvents.add(events.address.port);
  const [hybrid, node] = [await listen('hybrid', allowAnyOrigin), await listen('node', allowAnyOrigin)];
  const policy = new AccessPolicy({
    ...{ host: '127.0.0.1', allowedHosts: ['allowed.example'], anyOrigin: allowAnyOrigin },
  });
  return { hybrid, node, events, access: { host: new HostMemory(policy), checksOrigin: !allowAnyOrigin } };
}

const open = await listenAll(true);
const strict = await listenAll(false);
console.log(`seed ${seed}: ${values.only === undefined ? `${streams} streams` : `stream ${values.only}`}`);
const started = performance.now();
const end = values.only === undefined ? streams : Number(values.only) + 1;
let next = values.only === undefined ? 0 : Number(values.only);
const lane = async (): Promise<void> => {
  while (next < end) {
    const index = next++;
    try {
      await compare(index);
    } catch (error) {
      failed++;
      console.log(`  FAIL stream ${index}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
};
await Promise.all(Array.from({ length: CONNECTIONS }, lane));
const all = [open, strict].flatMap(({ hybrid, node, events }) => [hybrid, node, events]);
await Promise.all(all.map((server) => server.close()));
const counts = [...statuses]
  .toSorted(([a], [b]) => a.localeCompare(b))
  .map(([status, count]) => `${status.slice(9)}: ${count}`);
console.log(
  `answers of the hybrid front: ${counts.join(', ')}; ${plainRequests} requests read off the socket`,
);
console.log(`equal to node:http ${[...ways].map(([way, count]) => `${way}: ${count}`).join(', ')}`);
console.log(`${((performance.now() - started) / 1000).toFixed(1)} s`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && plainRequests > 0 ? 0 : 1;
