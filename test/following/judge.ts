import { isDeepStrictEqual } from 'node:util';
import { type Answer, type Call, sendBatch } from '../support/servers/rpc-client.ts';
import type { LiveChain } from './live-chain.ts';
import { type Asked, callOf, type Exchange, type Head, type Place } from './traffic.ts';

/** What became of many exchanges. */
export interface Judgement {
  answers: number;
  /** Answers equal to the upstream's at the named snapshot. */
  equal: number;
  /** Errors because the snapshot does not have the block that was asked for, as it should be. */
  notThere: number;
  /** Errors of clients that asked for more than the chain had within the time they may wait. */
  notReached: number;
  /** Other errors, by code and message. */
  readonly errors: Map<string, number>;
  /** Snapshots that answered. */
  readonly heads: Set<string>;
  readonly wrong: string[];
}

/** The block that a place means in a snapshot; undefined when the snapshot does not have it. */
function resolve(place: Place, head: Head, chain: LiveChain): string | undefined {
  if ('tag' in place) return head.hash;
  if ('number' in place) return chain.ancestor(head.hash, place.number);
  const held = chain.hashes().includes(place.hash);
  return held ? place.hash : undefined;
}

/** What to ask the upstream for the same answer; undefined where there is none to give. */
function questions(asked: Asked, head: Head, chain: LiveChain): readonly Call[] | undefined {
  if (asked.kind === 'at') {
    const hash = resolve(asked.place, head, chain);
    if (hash === undefined) return undefined;
    const block = asked.method === 'eth_getBlockReceipts' ? hash : { blockHash: hash };
    return [{ method: asked.method, params: [...asked.subject, block] }];
  }
  const { from, to, filter } = asked;
  const first = 'number' in from ? from.number : undefined;
  const last = resolve(to, head, chain);
  if (last === undefined) return undefined;
  if (first === undefined) return [{ method: 'eth_getLogs', params: [{ ...filter, blockHash: last }] }];
  if (first > head.number) return undefined;
  return Array.from({ length: head.number - first + 1 }, (_, index) => ({
    method: 'eth_getLogs',
    params: [{ ...filter, blockHash: chain.ancestor(head.hash, first + index) }],
  }));
}

/** True where the snapshot has the block: an error about it is not to be expected. */
function isHeld(asked: Asked, head: Head, chain: LiveChain, lowest: number): boolean {
  const places = asked.kind === 'at' ? [asked.place] : [asked.from, asked.to];
  return places.every((place) => {
    if ('tag' in place) return true;
    if ('number' in place) return place.number <= head.number;
    const number = chain.numberOf(place.hash);
    return number >= lowest && chain.ancestor(head.hash, number) === place.hash;
  });
}

function join(calls: readonly Call[], answers: readonly Answer[]): Answer {
  const [first] = answers;
  if (calls.length === 1 && first !== undefined) return first;
  const failed = answers.find((answer) => 'error' in answer);
  if (failed !== undefined) return failed;
  return { result: answers.flatMap((answer) => ('result' in answer ? (answer.result as unknown[]) : [])) };
}

function isSame(ours: Answer, theirs: Answer, block: string | undefined, chain: LiveChain): boolean {
  if (block !== undefined && hidesHash(ours, theirs, block, chain)) return true;
  if ('error' in ours && 'error' in theirs) {
    return ours.error.code === theirs.error.code && ours.error.data === theirs.error.data;
  }
  return isDeepStrictEqual(ours, theirs);
}

/**
 * In a block that is not canonical any more, geth answers BLOCKHASH with zero for all but the parent: it looks headers
 * up by number. Ours gave the real hash of that fork while the block was canonical.
 */
function hidesHash(ours: Answer, theirs: Answer, block: string, chain: LiveChain): boolean {
  const [mine, yours] = [ours, theirs].map((answer) => ('result' in answer ? answer.result : undefined));
  if (typeof mine !== 'string' || typeof yours !== 'string' || mine.length !== yours.length) return false;
  for (let at = 2; at < mine.length; at += 64) {
    const word = `0x${mine.slice(at, at + 64)}`;
    const theirWord = yours.slice(at, at + 64);
    if (word === `0x${theirWord}`) continue;
    const isAncestor = chain.ancestor(block, chain.numberOf(word)) === word;
    if (!/^0+$/.test(theirWord) || !isAncestor) return false;
  }
  return true;
}

/** The codes that the contract has for what may go wrong while a chain moves. */
const ALLOWED: ReadonlySet<number> = new Set([-32001, -32002, -32005]);

/** Compares every answer with what the upstream says at the block that our answer named; `lowest` is our first block. */
export async function judge(
  exchanges: readonly Exchange[],
  chain: LiveChain,
  lowest: number,
): Promise<Judgement> {
  const judgement: Judgement = {
    ...{ answers: 0, equal: 0, notThere: 0, notReached: 0 },
    ...{ errors: new Map(), heads: new Set(), wrong: [] },
  };
  const { wrong, errors, heads } = judgement;
  const theirs = new Oracle(chain.node.url);
  const open: { asked: Asked; answer: Answer; head: Head; calls: readonly Call[] }[] = [];
  const fail = ({ code, message }: { code: number; message: string }, what: () => string): void => {
    const text = `${code} ${message.replaceAll(/0x[0-9a-f]+|\d{2,}/g, 'N')}`;
    errors.set(text, (errors.get(text) ?? 0) + 1);
    if (!ALLOWED.has(code)) wrong.push(what());
  };
  for (const { asked, answers, head, atLeast } of exchanges) {
    for (const [index, each] of asked.entries()) {
      const answer = answers[index] ?? answers[0];
      if (answer === undefined) continue;
      judgement.answers += 1;
      const what = (): string =>
        `${JSON.stringify(callOf(each))} at ${JSON.stringify(head)}: ${JSON.stringify(answer)}`;
      if (head === undefined) {
        if ('error' in answer) fail(answer.error, what);
        else wrong.push(`no snapshot named: ${what()}`);
        continue;
      }
      heads.add(head.hash);
      if (!chain.knows(head.hash)) wrong.push(`no such block: ${what()}`);
      if (atLeast !== undefined && head.number < atLeast && !('error' in answer)) {
        wrong.push(`read backwards, at least ${atLeast}: ${what()}`);
      }
      const calls = questions(each, head, chain);
      const held = isHeld(each, head, chain, lowest);
      if ('error' in answer && ALLOWED.has(answer.error.code)) {
        const isBehind = head.number < (atLeast ?? 0) && answer.error.message.startsWith('not reached');
        if (isBehind) judgement.notReached += 1;
        else if (!held && answer.error.code === -32001) judgement.notThere += 1;
        else fail(answer.error, what);
      } else if (calls === undefined) {
        const none = 'result' in answer && answer.result === null;
        if (none || ('error' in answer && !held)) judgement.notThere += 1;
        else wrong.push(`answered about what is not there: ${what()}`);
      } else if (!held && 'result' in answer && answer.result === null) judgement.notThere += 1;
      else open.push({ asked: each, answer, head, calls });
    }
  }
  await theirs.ask(open.flatMap(({ calls }) => calls));
  for (const { asked, answer, head, calls } of open) {
    const expected = join(
      calls,
      calls.map((call) => theirs.answer(call)),
    );
    if (isSame(answer, expected, asked.kind === 'at' ? resolve(asked.place, head, chain) : undefined, chain))
      judgement.equal += 1;
    else {
      wrong.push(
        `${JSON.stringify(callOf(asked))} at ${head.number} ${head.hash}: ${shorten(answer)} but upstream ${shorten(expected)}`,
      );
    }
  }
  return judgement;
}

const shorten = (value: unknown): string => JSON.stringify(value).slice(0, 1200);

/** What the upstream says, each thing asked once. */
class Oracle {
  private readonly url: string;
  private readonly known = new Map<string, Answer>();

  constructor(url: string) {
    this.url = url;
  }

  async ask(calls: readonly Call[]): Promise<void> {
    const fresh = new Map(calls.map((call) => [JSON.stringify(call), call]));
    const all = [...fresh];
    for (let at = 0; at < all.length; at += 200) {
      const some = all.slice(at, at + 200);
      const answers = await sendBatch(
        this.url,
        some.map(([, call]) => call),
      );
      for (const [index, [key]] of some.entries()) {
        const answer = answers[index];
        if (answer !== undefined) this.known.set(key, answer);
      }
    }
  }

  answer(call: Call): Answer {
    const answer = this.known.get(JSON.stringify(call));
    if (answer === undefined) throw new Error(`not asked: ${JSON.stringify(call)}`);
    return answer;
  }
}

export function describeErrors(errors: ReadonlyMap<string, number>): string {
  const all = [...errors].map(([text, count]) => `${count} × ${text}`);
  return all.length === 0 ? 'none' : all.join('; ');
}
