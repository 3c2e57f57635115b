import { Gate } from '../../../src/rpc/auth/gate.ts';
import { createHttpServer, type HttpServer } from '../../../src/rpc/http/server.ts';
import { ClientAddresses } from '../../../src/rpc/limits/client-address.ts';
import { Random } from '../../support/random.ts';
import { testDispatcher, testMemory } from '../../support/serve/dispatcher.ts';
import { findFault } from '../well-formed.ts';
import { type Cases, eachCase, type Judge } from './case.ts';
import type { Keyring } from './keyring.ts';
import { lastRequest, type MadeRequest, makeRequest } from './requests.ts';
import { type HttpAnswer, readAnswers, talk } from './talk.ts';

/** Most of the time they wait: who is refused hears so a little later. */
const LANES = 64;
/** Refused before anybody looks at the body, or at who asks. */
const UNREAD = new Set([400, 401, 403, 405, 415]);

async function listen(front: 'hybrid' | 'node', ring: Keyring): Promise<HttpServer> {
  const gate = await Gate.open({ keys: ring.keyFile, jwks: JSON.stringify(ring.jwks) });
  const limitMs = 60_000;
  return createHttpServer(
    {
      ...{ front, host: '127.0.0.1', port: 0, reusePort: false, allowAnyOrigin: false },
      ...{ maxBodyBytes: 10_000, maxConnections: 1_000, maxInFlight: 1_000, drainTimeoutMs: 1_000 },
      ...{ headersTimeoutMs: limitMs, requestTimeoutMs: limitMs, keepAliveTimeoutMs: limitMs },
    },
    {
      dispatcher: await testDispatcher({ atLeastWaitMs: 0 }),
      ...{ memory: testMemory(), gate, addresses: new ClientAddresses(['127.0.0.1']) },
    },
  );
}

/**
 * Requests whose framing is right and whose headers are not, a few on each connection, to listeners with both fronts that ask
 * for keys: each gets the status that the rules say, and nobody without a credential is served. Framing itself is what `test:front` is for.
 */
export async function fuzzHeaders(cases: Cases, ring: Keyring, judge: Judge): Promise<void> {
  const servers = { hybrid: await listen('hybrid', ring), node: await listen('node', ring) };
  const statuses = new Map<number, number>();
  try {
    await eachCase(cases, LANES, judge, async (index) => {
      for (const [front, { address }] of Object.entries(servers)) {
        const random = new Random(cases.seed, index);
        const fault = await faultOfConnection(address.port, ring, random, ({ status }) => {
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        });
        if (fault !== undefined) return `${front}: ${fault}`;
      }
      return undefined;
    });
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.close()));
  }
  console.log(`headers: ${cases.count}, answered ${JSON.stringify(Object.fromEntries(statuses))}`);
}

/** Has a few requests on one connection, and one more that must still be understood; what is wrong with the answers. */
export async function faultOfConnection(
  port: number,
  ring: Keyring,
  random: Random,
  hear: (answer: HttpAnswer) => void,
): Promise<string | undefined> {
  const count = random.pick([1, 1, 2, 4]);
  const requests = Array.from({ length: count }, (_, at) => makeRequest(random, ring, at + 1));
  const bytes = Buffer.concat(requests.map((request) => request.bytes));
  const last = lastRequest(ring, count + 1);
  const answers = readAnswers(await talk(port, bytes, last.bytes, random));
  for (const answer of answers) hear(answer);
  const fault = faultOfAnswers([...requests, last], answers);
  return fault === undefined ? undefined : `${fault}; sent ${JSON.stringify(bytes.toString('latin1'))}`;
}

/** They come in order. */
function faultOfAnswers(
  requests: readonly MadeRequest[],
  answers: readonly HttpAnswer[],
): string | undefined {
  if (answers.length !== requests.length) return `${answers.length} answers to ${requests.length} requests`;
  for (const [at, { status, id, kind }] of requests.entries()) {
    const answer = answers[at];
    if (answer?.status !== status) return `request ${at} (${kind}): ${answer?.status}, not ${status}`;
    const fault = findFault(UNREAD.has(status) ? 200 : status, answer.body);
    if (fault !== undefined) return `request ${at}: ${fault}: ${answer.body}`;
    if (status === 200 && !answer.body.startsWith(`{"jsonrpc":"2.0","id":${id},"result":"0x`))
      return `request ${at}: ${answer.body}`;
  }
  return undefined;
}
