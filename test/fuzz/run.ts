import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import type { Dispatcher } from '../../src/rpc/dispatch/dispatcher.ts';
import { allMethods } from '../support/schemas/methods.ts';
import { dispatcherOf, textOf } from '../support/serve/dispatcher.ts';
import { FakeChain } from '../support/serve/head.ts';
import { testServices, testSettings } from '../support/serve/methods.ts';
import { startOurNode } from '../support/servers/node.ts';
import { request } from '../support/servers/rpc-client.ts';
import { anyBody } from './bodies.ts';
import { EDGE_KINDS, fuzzEdge } from './edge/kinds.ts';
import { paramsByMethod } from './method-params.ts';
import { fuzzWebSocket } from './websocket.ts';
import { findEchoFault, findFault } from './well-formed.ts';

/**
 * `npm run test:fuzz -- --seed N` repeats a run; `--bodies`, `--http` and `--ws` set how many bodies go which way, `--headers`,
 * `--frames`, `--credentials`, `--files` and `--node` how many cases of these there are, `--full` 100,000 of each; `--from I` begins at one.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    bodies: { type: 'string', default: '100000' },
    http: { type: 'string', default: '12000' },
    ws: { type: 'string', default: '5000' },
    full: { type: 'boolean', default: false },
    from: { type: 'string', default: '0' },
    ...Object.fromEntries(EDGE_KINDS.map((kind) => [kind, { type: 'string' as const }])),
  },
});
const seed = Number(values.seed);
const overHttp = Number(values.http);
const overWebSocket = Number(values.ws);
const direct = Number(values.bodies) - overHttp - overWebSocket;

const ANSWER_MS = 20_000;
const CONNECTIONS = 16;
const MAX_GROWTH_BYTES = 400 * 2 ** 20;
/** The generator's own garbage included. */
const MAX_OWN_BYTES = 2 ** 30;
const CHUNK = 1_000;

let passed = 0;
let failed = 0;

function judge(body: Buffer, status: number, text: string): void {
  const fault = findFault(status, text) ?? (status === 503 ? undefined : findEchoFault(body, text));
  if (fault === undefined) {
    passed++;
    return;
  }
  fail(body, `${fault}: ${text.slice(0, 300)}`);
}

function fail(body: Buffer, why: string): void {
  failed++;
  if (failed <= 20)
    console.log(`  FAIL ${why}\n       body ${JSON.stringify(body.subarray(0, 400).toString('latin1'))}`);
}

function judgeEdge(fault: string | undefined, what: () => string): void {
  if (fault === undefined) {
    passed++;
    return;
  }
  failed++;
  if (failed <= 20) console.log(`  FAIL ${what()}: ${fault.slice(0, 3_000)}`);
}

/** Bodies in chunks, each from a seed of its own: memory holds one chunk, and a chunk can be had again. */
function* chunks(count: number, first: number): Generator<readonly Buffer[]> {
  for (let done = 0; done < count; done += CHUNK) {
    yield fc.sample(anyBody, { seed: seed + first + done, numRuns: Math.min(CHUNK, count - done) });
  }
}

function within<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${ANSWER_MS} ms`)), ANSWER_MS);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

/** All methods over a chain whose calls give nothing, with somebody who takes no transaction. */
async function madeUpNode(): Promise<Dispatcher> {
  const chain = new FakeChain().add(0).add(1).add(2).add(3).add(4);
  const head = await chain.head(() => ({ kind: 'success', output: Buffer.from('"0x"') }));
  const passOn = async () => ({ kind: 'error', code: -32_000, message: 'nobody' }) as const;
  const settings = { ...testSettings, services: { ...testServices, canSend: true, passOn } };
  // Its headers prove nothing.
  const methods = new Map([...allMethods()].filter(([name]) => name !== 'eth_getProof'));
  return dispatcherOf(head, { settings, forbidden: new Set(['eth_getBlockReceipts']) }, { methods });
}

/** Straight into the framing, over a small made-up chain. */
async function fuzzFraming(): Promise<void> {
  const dispatcher = await madeUpNode();
  const caller = { signal: new AbortController().signal, client: 'fuzz' };
  for (const bodies of chunks(direct, 0)) {
    for (const body of bodies) {
      try {
        const response = await within(Promise.resolve(dispatcher.handle(body, caller)));
        judge(body, response.status, textOf(response.body));
      } catch (error) {
        fail(body, String(error));
      }
    }
  }
}

/** Over HTTP, against a real node with the official chain. */
async function fuzzNode(): Promise<void> {
  await using node = await startOurNode();
  await checkMethods(node.dedicatedUrl);
  let crashed = false;
  let finished = false;
  void node.running.exited.then((code) => {
    if (finished) return;
    crashed = true;
    console.log(`  the node ended with ${code}:\n${node.running.output()}`);
  });
  let settled: number | undefined;
  let peak = 0;
  let sent = 0;
  for (const bodies of chunks(overHttp, direct)) {
    if (crashed) break;
    const queue = [...bodies];
    const lane = async (): Promise<void> => {
      for (let body = queue.pop(); body !== undefined; body = queue.pop()) {
        await post(sent++ % 2 === 0 ? node.publicUrl : node.dedicatedUrl, body);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, lane));
    const bytes = residentBytes(node.running.pid);
    // The first chunks warm up compilers and caches.
    if (sent >= Math.min(3 * CHUNK, overHttp)) settled ??= bytes;
    peak = Math.max(peak, bytes);
  }
  finished = true;
  const growth = peak - (settled ?? peak);
  const mib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;
  console.log(`memory of the node: ${mib(settled ?? peak)} after warming up, ${mib(peak)} at most`);
  if (crashed || growth > MAX_GROWTH_BYTES) failed++;
}

/** A method that the node serves and no body asks for fails the run. */
async function checkMethods(url: string): Promise<void> {
  const { methods } = await request<{ readonly methods: readonly { readonly name: string }[] }>(
    url,
    'rpc.discover',
    [],
  );
  const forgotten = methods.filter(({ name }) => !paramsByMethod.has(name));
  console.log(`${methods.length} methods are served; without a body: ${forgotten.length}`);
  for (const { name } of forgotten) fail(Buffer.from(name), 'no body asks for this method');
}

async function post(url: string, body: Buffer): Promise<void> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new Uint8Array(body),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    judge(body, response.status, await response.text());
  } catch (error) {
    fail(body, String(error));
  }
}

/** Resident memory of a process group: the script runner and the node it runs. */
function residentBytes(group: number): number {
  let pages = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      // After the name in brackets: state, parent, group, … and resident pages as field 22 of what is left.
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      if (Number(fields[2]) === group) pages += Number(fields[21]);
    } catch {
      // It ended while we were looking.
    }
  }
  return pages * 4_096;
}

console.log(
  `fuzzing with --seed ${seed}: ${direct} bodies into the framing, ${overWebSocket} over WebSocket, ${overHttp} over HTTP`,
);
const start = performance.now();
await fuzzFraming();
console.log(`framing done after ${Math.round((performance.now() - start) / 1000)} s`);
await fuzzWebSocket(chunks(overWebSocket, direct + overHttp), within, (body, fault) => {
  if (fault === undefined) passed++;
  else fail(body, fault.slice(0, 600));
});
console.log(`WebSocket done after ${Math.round((performance.now() - start) / 1000)} s`);
const { rss } = process.memoryUsage();
console.log(`memory of this process: ${Math.round(rss / 2 ** 20)} MiB`);
if (rss > MAX_OWN_BYTES) failed++;
if (overHttp > 0) await fuzzNode();
await fuzzEdge(seed, values, judgeEdge);
console.log(`took ${Math.round((performance.now() - start) / 1000)} s, seed ${seed}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
