import { getLogsRetryHelper } from '@ponder/utils';
import { createClient, type Hex, http, numberToHex, type RpcError, type RpcLog } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OurNode, startOurNode } from '../support/servers/node.ts';
import { call, curl } from './curl.ts';
import { INDEXER_WORDS, OTHER_WORDS, type Said, SOURCES } from './indexer-words.ts';

/** Of the public listener: small, so that the official chain takes several steps. */
const MAX_RANGE = 10;
const MAX_RESULTS = 25;
const RATE = 10;
/** The logs of the block before it are more than any answer may have. */
const FIRST = 3;
const HEAD = 54;

type Range = { readonly fromBlock: Hex; readonly toBlock: Hex };
interface Refusal {
  readonly code: number;
  readonly message: string;
}

let node: OurNode;
let everything: readonly RpcLog[];
/** What our node says, as it says it. */
let texts: Record<Said, string>;

beforeAll(async () => {
  node = await startOurNode([
    ...['--profile', `public.logsRange=${MAX_RANGE}b,public.logsResults=${MAX_RESULTS}`],
    // Those behind the proxy have a rate; the others, on this machine, none.
    ...['--profile', `public.rate=${RATE}`, '--rate-burst', '1', '--trusted-proxies', '127.0.0.1'],
  ]);
  const logs = await logsOf(node.dedicatedUrl, FIRST, HEAD);
  if (!Array.isArray(logs)) throw new Error(JSON.stringify(logs));
  everything = logs as readonly RpcLog[];
  texts = {
    range: messageOf(await logsOf(node.publicUrl, FIRST, HEAD)),
    results: messageOf(await logsOf(node.publicUrl, ...(await denseRange()))),
    head: messageOf(await logsOf(node.publicUrl, HEAD, HEAD + 1)),
    rate: await rateText(),
  };
});
afterAll(() => node?.stop());

async function logsOf(url: string, from: number, to: number): Promise<readonly RpcLog[] | Refusal> {
  const body = call('eth_getLogs', { fromBlock: numberToHex(from), toBlock: numberToHex(to) });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  const { result, error } = (await response.json()) as { result?: readonly RpcLog[]; error?: Refusal };
  if (result !== undefined) return result;
  if (error === undefined) throw new Error('neither result nor error');
  // All that is wrong with a range is wrong with parameters (B8).
  expect(error.code).toBe(-32602);
  return error;
}

function messageOf(answer: readonly RpcLog[] | Refusal): string {
  if (!('message' in answer)) throw new Error('it was answered');
  return answer.message;
}

/** As many blocks as one may ask for, with more logs than one is told. */
async function denseRange(): Promise<readonly [number, number]> {
  for (let from = FIRST; from + MAX_RANGE <= HEAD; from++) {
    const to = from + MAX_RANGE;
    const numbers = everything.map(({ blockNumber }) => Number(blockNumber));
    if (numbers.filter((number) => number >= from && number <= to).length > MAX_RESULTS) return [from, to];
  }
  throw new Error('the chain has too few logs');
}

async function rateText(): Promise<string> {
  for (let left = 20 * RATE; left > 0; left--) {
    const shown = await curl(node.publicUrl, { headers: ['x-forwarded-for: 192.0.2.1'] });
    if (shown.status === 429) return (JSON.parse(shown.body) as { error: Refusal }).error.message;
  }
  throw new Error('there is no rate');
}

describe("Ponder's helper, guided by our errors alone (B8)", () => {
  /** Fetches a range as Ponder does: what is refused is asked for again in the ranges that its helper makes of the error. */
  async function fetchAll(range: Range): Promise<{ logs: RpcLog[]; asked: number; refusals: string[] }> {
    const client = createClient({ transport: http(node.publicUrl, { retryCount: 0 }) });
    const logs: RpcLog[] = [];
    const refusals: string[] = [];
    const waiting = [range];
    let asked = 0;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { fromBlock, toBlock } = next;
      asked++;
      try {
        logs.push(...(await client.request({ method: 'eth_getLogs', params: [{ fromBlock, toBlock }] })));
      } catch (caught) {
        const error = caught as RpcError;
        const advice = getLogsRetryHelper({ error, params: [{ fromBlock, toBlock }] });
        if (!advice.shouldRetry) throw error;
        // It did not guess.
        expect(advice.isSuggestedRange, error.message).toBe(true);
        refusals.push(error.details);
        waiting.unshift(...advice.ranges);
      }
    }
    return { logs, asked, refusals };
  }

  it('fetches a range that is too wide', async () => {
    const { logs, asked, refusals } = await fetchAll({
      fromBlock: numberToHex(FIRST),
      toBlock: numberToHex(HEAD),
    });
    expect(logs).toEqual(everything);
    expect(refusals[0]).toBe(texts.range);
    expect(asked).toBeGreaterThan((HEAD - FIRST) / (MAX_RANGE + 1));
  });

  it('fetches a range with too many results', async () => {
    const [from, to] = await denseRange();
    const { logs, refusals } = await fetchAll({ fromBlock: numberToHex(from), toBlock: numberToHex(to) });
    const isWithin = ({ blockNumber }: RpcLog): boolean =>
      Number(blockNumber) >= from && Number(blockNumber) <= to;
    expect(logs).toEqual(everything.filter(isWithin));
    expect(refusals[0]).toBe(texts.results);
  });
});

describe('the words that indexers look for, in our answers (B8)', () => {
  const known = INDEXER_WORDS.flatMap((row) => (row.words === undefined ? [] : { ...row, words: row.words }));

  it.each(known)('$client, $said: $does', ({ said, words }) => {
    expect(texts[said]).toMatch(words);
  });

  it.each(OTHER_WORDS)('$client does not take $said for something else', ({ said, not }) => {
    expect(texts[said]).not.toMatch(not);
  });

  it('names where each of them says so', () => {
    expect(new Set(INDEXER_WORDS.map(({ client }) => client))).toEqual(new Set(Object.keys(SOURCES)));
  });

  it.each(Object.keys(SOURCES))('lead %s through all logs', { timeout: 120_000 }, async (client) => {
    const own = known.filter((row) => row.client === client);
    // Who has no words for a range that is too wide never asks for one.
    const stride = own.some(({ said, narrow }) => said === 'range' && narrow !== undefined)
      ? HEAD
      : MAX_RANGE;
    const logs: RpcLog[] = [];
    let asked = 0;
    for (let from = FIRST, to = Math.min(from + stride, HEAD); from <= HEAD; ) {
      expect(++asked).toBeLessThan(10 * HEAD);
      const answer = await logsOf(node.publicUrl, from, to);
      if (!('message' in answer)) {
        logs.push(...answer);
        [from, to] = [to + 1, Math.min(to + 1 + stride, HEAD)];
        continue;
      }
      const row = own.find(({ words, narrow }) => narrow !== undefined && words.test(answer.message));
      const match = row?.words.exec(answer.message);
      if (match === null || match === undefined) throw new Error(`no words for ${answer.message}`);
      const last = row?.narrow?.(match, from, to) ?? to;
      expect(last, answer.message).toBeLessThan(to);
      expect(last, answer.message).toBeGreaterThanOrEqual(from);
      to = last;
    }
    expect(logs).toEqual(everything);
  });
});
