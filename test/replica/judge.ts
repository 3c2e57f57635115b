import { agree, spoil } from '../differential/compare.ts';
import { type Deviation, errorOf, refuses, wordsOf } from '../differential/deviations/deviation.ts';
import { deviationsOn } from '../differential/deviations/deviations.ts';
import { asFields, blockIndex, holds, paramsOf, withParam } from '../differential/request-shape.ts';
import type { ChainName } from '../support/servers/chains.ts';
import type { Answer, Call } from '../support/servers/rpc-client.ts';

export interface Head {
  readonly number: number;
  readonly hash: string;
}

/** What the upstream is asked for a request of ours, and what it would have to say unless it refuses the rest of the request. */
export interface Plan {
  readonly asked: Call;
  readonly expected?: Answer;
  readonly used: readonly string[];
}

export type Judgement =
  | { readonly verdict: 'equal' | 'different' | 'not comparable' }
  | { readonly verdict: 'allowed'; readonly deviation: string };

/** Rules of comparison for one chain. */
export interface Judge {
  /** `head` is the block that our answer says it was made at; only requests with tags need it. */
  plan(request: Call, head?: Head): Plan;
  judge(request: Call, upstream: Answer, ours: Answer): Judgement;
}

/** Both are about forks of the official chain; here all blocks are of one fork. */
const ofOtherChains: readonly string[] = ['early-list', 'constantinople'];

/** Puts the block of our answer in the place of `latest`. */
function atHead(request: Call, head: Head): Call {
  const number = `0x${head.number.toString(16)}`;
  if (request.method === 'eth_getLogs') {
    const filter = asFields(paramsOf(request)[0]);
    if (filter === undefined || filter['blockHash'] != null) return request;
    const bound = (value: unknown): unknown => (value === 'latest' || value == null ? number : value);
    return withParam(request, 0, {
      ...filter,
      fromBlock: bound(filter['fromBlock']),
      toBlock: bound(filter['toBlock']),
    });
  }
  const at = blockIndex(request.method);
  const params = paramsOf(request);
  const selector = params[at];
  const isLatest =
    selector === 'latest' ||
    asFields(selector)?.['blockNumber'] === 'latest' ||
    (selector === undefined && params.length === at && at > 0);
  if (!isLatest) return request;
  return withParam(
    request,
    at,
    request.method === 'eth_getBlockReceipts' ? head.hash : { blockHash: head.hash },
  );
}

/** A request about `pending` as one about `latest`. */
function withoutPending(request: Call): Call {
  const filter = asFields(paramsOf(request)[0]);
  if (request.method !== 'eth_getLogs' || filter === undefined)
    return withParam(request, blockIndex(request.method), 'latest');
  return withParam(request, 0, { ...filter, fromBlock: 'latest', toBlock: 'latest' });
}

function planWith(deviations: readonly Deviation[]): Judge['plan'] {
  return (request, head) => {
    let asked = request;
    const used: string[] = [];
    for (const deviation of deviations) {
      const meaning = deviation.means?.(asked);
      if (meaning === undefined) continue;
      used.push(deviation.id);
      // Asked for a block that is there, the upstream still says whether it takes the rest of the request.
      if ('answer' in meaning) return { asked: withoutPending(asked), expected: meaning.answer, used };
      asked = meaning.call;
    }
    return { asked: head === undefined ? asked : atHead(asked, head), used };
  };
}

function judgeWith(deviations: readonly Deviation[]): Judge['judge'] {
  return (request, upstream, ours) => {
    if (agree(upstream, ours)) return { verdict: 'equal' };
    const deviation = deviations.find(({ allows }) => allows?.({ request, geth: upstream, ours }) === true);
    return deviation === undefined
      ? { verdict: 'different' }
      : { verdict: 'allowed', deviation: deviation.id };
  };
}

/** Nothing is allowed: for a server against itself. */
const strict: Judge = { plan: planWith([]), judge: judgeWith([]) };

/** op-geth looks for a block of no hash where geth says that there is neither block nor hash. */
const opDeviation: Deviation = {
  id: 'selector-object',
  allows: ({ request, geth, ours }) => {
    const selector = asFields(paramsOf(request)[blockIndex(request.method)]);
    const isNeither =
      selector !== undefined && selector['blockHash'] == null && selector['blockNumber'] == null;
    return isNeither && refuses(ours) && errorOf(geth)?.kind === 'block not found';
  },
};

function gethJudge(head: number, more: readonly Deviation[] = []): Judge {
  const deviations = [
    ...deviationsOn({ head, hashes: [] }).filter(({ id }) => !ofOtherChains.includes(id)),
    ...more,
  ];
  return { plan: planWith(deviations), judge: judgeWith(deviations) };
}

/** Where anvil gives a field that nobody else has, or has it in another form. */
function likeOthers(receipt: unknown): unknown {
  const fields = asFields(receipt);
  if (fields === undefined) return receipt;
  const { blockTimestamp: _number, blobGasPrice, ...rest } = fields;
  return fields['type'] === '0x3' ? { ...rest, blobGasPrice } : rest;
}

function withoutHabits(request: Call, answer: Answer): Answer {
  if (request.method !== 'eth_getBlockReceipts' || 'error' in answer || !Array.isArray(answer.result))
    return answer;
  return { result: answer.result.map(likeOthers) };
}

const wordsIn = (result: unknown): readonly string[] =>
  String(result)
    .slice(2)
    .match(/.{1,64}/g) ?? [];

/** A call that offers no price sees a base fee of zero, as in geth; in anvil it sees the block's. */
function isBaseFeeOnly(request: Call, upstream: Answer, ours: Answer): boolean {
  const call = asFields(paramsOf(request)[0]);
  const isPriced = [call?.['gasPrice'], call?.['maxFeePerGas']].some(
    (price) => price != null && price !== '0x0',
  );
  if (request.method !== 'eth_call' || isPriced) return false;
  if ('error' in upstream || 'error' in ours) return false;
  // What a program of ours makes of the base fee can be anything.
  if (holds(request, (key, value) => key === 'code' && String(value).includes('48'))) return true;
  const own = wordsIn(ours.result);
  const seen = new Set(
    wordsIn(upstream.result).filter((word, at) => word !== own[at] && /^0+$/.test(own[at] ?? '')),
  );
  const rest = wordsIn(upstream.result).every((word, at) => word === own[at] || seen.has(word));
  return rest && seen.size === 1;
}

/** Anvil has its own words and codes for errors and checks less: only results and the data of reverts are compared. */
function anvilJudge(head: number): Judge {
  const { plan, judge } = gethJudge(head);
  const reverts = (answer: Answer): boolean => wordsOf(answer) === 'revert';
  return {
    plan,
    judge(request, upstream, ours) {
      if ('error' in upstream && 'error' in ours && reverts(upstream) && reverts(ours))
        return { verdict: errorOf(upstream)?.data === errorOf(ours)?.data ? 'equal' : 'different' };
      if ('error' in upstream || 'error' in ours) {
        const oneReverts = reverts(upstream) !== reverts(ours) && ('result' in upstream || 'result' in ours);
        return { verdict: oneReverts ? 'different' : 'not comparable' };
      }
      const judgement = judge(request, withoutHabits(request, upstream), withoutHabits(request, ours));
      const isHabit = judgement.verdict === 'different' && isBaseFeeOnly(request, upstream, ours);
      return isHabit ? { verdict: 'not comparable' } : judgement;
    },
  };
}

export function judgeOf(chain: ChainName, head: number, isSelf: boolean): Judge {
  if (isSelf) return strict;
  if (chain === 'anvil') return anvilJudge(head);
  return chain === 'op-geth' ? gethJudge(head, [opDeviation]) : gethJudge(head);
}

/** Whether a spoilt answer of ours would have been taken for a good one: a test of the test. */
export function missesSpoilt(judge: Judge, request: Call, upstream: Answer): boolean {
  // A crash of the upstream's says nothing that could be spoilt.
  if ('error' in upstream && upstream.error.code === -32603) return false;
  const { verdict } = judge.judge(request, upstream, spoil(upstream));
  return verdict === 'equal' || verdict === 'allowed';
}
