import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { ChainView } from '../../replica/chain-view.ts';
import { headIn } from '../../replica/ours.ts';
import type { Random } from '../../support/random.ts';
import { type Answer, type Call, sendBatch, sendBatchNoting } from '../../support/servers/rpc-client.ts';

/** What a client asks, all at once: the answers must be of one block. */
const QUESTIONS: readonly Call[] = [
  { method: 'eth_blockNumber', params: [] },
  { method: 'eth_getBlockByNumber', params: ['latest', false] },
];

/** What clients have read: counted, and what was wrong with it. */
export interface History {
  reads: number;
  /** Answers that were held against the chain's own node at the same block. */
  compared: number;
  /** Reads that were answered by another replica than the first that was asked. */
  moved: number;
  /** Reads that no replica answered, with what was said last. */
  readonly failed: string[];
  /** Answers that were not the truth at one named block, or of an older one than the client had seen. */
  readonly wrong: string[];
}

export function newHistory(): History {
  return { reads: 0, compared: 0, moved: 0, failed: [], wrong: [] };
}

export interface ReaderModules {
  /** Where replicas are that a balancer would send requests to. */
  readonly urls: () => readonly string[];
  readonly view: ChainView;
  readonly truthUrl: string;
  /** A question about state whose answer changes from block to block. */
  readonly question: (random: Random, block: string | { readonly blockHash: string }) => Call;
  readonly history: History;
}

/** How long one replica may take to answer before the client asks another. */
const PATIENCE_MS = 2_500;
/** One answer in so many is held against the truth. */
const COMPARED = 5;

/**
 * A client behind a balancer that spreads requests over replicas at random, and carries the last block that it has seen (B3). Whatever it
 * reads must be the truth at the block that the answer names, and never of an older block than it has seen.
 */
export async function read(random: Random, modules: ReaderModules, signal: AbortSignal): Promise<void> {
  const { history } = modules;
  let seen = 0;
  while (!signal.aborted) {
    const question = modules.question(random, 'latest');
    const answered = await ask([...QUESTIONS, question], seen, random, modules);
    if (answered !== undefined) {
      history.reads++;
      const { head, answers } = answered;
      if (head.number < seen) history.wrong.push(`block ${head.number} after block ${seen}`);
      seen = Math.max(seen, head.number);
      await judge(head, question, answers, random, modules);
    }
    await pause(random.below(40));
  }
}

interface Answered {
  readonly head: { readonly number: number; readonly hash: string };
  readonly answers: readonly Answer[];
}

/** Asks one replica after another, as a balancer does that hears no answer or an error of the server. */
async function ask(
  calls: readonly Call[],
  seen: number,
  random: Random,
  { urls, history }: ReaderModules,
): Promise<Answered | undefined> {
  const order = random.shuffle(urls());
  let last = 'there is no replica';
  for (const [at, url] of order.entries()) {
    try {
      const headers = { 'x-chain-at-least': String(seen) };
      const { answers, headers: told } = await within(sendBatchNoting(url, calls, headers), PATIENCE_MS);
      const error = answers.find((answer) => 'error' in answer);
      const head = headIn(told);
      if (error === undefined && head !== undefined) {
        if (at > 0) history.moved++;
        return { head, answers };
      }
      last = JSON.stringify(error ?? 'no head');
    } catch (error) {
      last = String(error);
    }
  }
  history.failed.push(last);
  return undefined;
}

async function judge(
  head: Answered['head'],
  question: Call,
  answers: readonly Answer[],
  random: Random,
  { view, truthUrl, history }: ReaderModules,
): Promise<void> {
  const [number, block, value] = answers.map((answer) => ('result' in answer ? answer.result : undefined));
  const named = block as { readonly number: string; readonly hash: string } | null;
  if (Number(number) !== head.number || named?.hash !== head.hash)
    history.wrong.push(
      `one batch of blocks ${head.number} ${head.hash}, ${inspect(number)} and ${named?.hash}`,
    );
  if (!view.hasSeen(head.hash)) {
    // The node may be faster than this test.
    await view.settle();
    if (!view.hasSeen(head.hash)) history.wrong.push(`block ${head.number} ${head.hash} never was`);
  }
  if (random.below(COMPARED) > 0) return;
  const [params] = [question.params as readonly unknown[]];
  const at = { ...question, params: [...params.slice(0, -1), { blockHash: head.hash }] };
  const [truth] = await sendBatch(truthUrl, [at]);
  history.compared++;
  const told = truth !== undefined && 'result' in truth ? truth.result : undefined;
  // Of a block that was taken off long ago, it may know nothing any more.
  if (told !== undefined && told !== value)
    history.wrong.push(
      `${question.method} at ${head.number} ${head.hash}: ${inspect(value)} instead of ${inspect(told)}`,
    );
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  work.catch(() => {});
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
