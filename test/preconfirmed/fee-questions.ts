import type { Hex } from 'viem';
import { asFields } from '../differential/request-shape.ts';
import type { Random } from '../support/random.ts';
import type { Answer, Call } from '../support/servers/rpc-client.ts';
import { only, type Question } from './question.ts';
import type { Moment } from './rig.ts';

const quantity = (value: number): Hex => `0x${value.toString(16)}`;
const mostBlocks = 20;

function question(ours: Call, oracle = ours, expected = only): Question {
  return { kind: 'block', ours, oracle: [oracle], expected };
}

/** Base fees of a history have one entry more than blocks: that of the next one. */
function nextBaseFee(answers: readonly Answer[]): Answer {
  const answer = only(answers);
  if ('error' in answer) return answer;
  const fees = asFields(answer.result)?.['baseFeePerGas'];
  return { result: Array.isArray(fees) ? fees.at(-1) : undefined };
}

/** What a chain with one builder costs, when its head is confirmed; `oldest` is the first block that ours holds. */
export function feeQuestions({ head, stack }: Moment, random: Random, oldest: number): readonly Question[] {
  const count = random.between(1, Math.min(mostBlocks, head.number - oldest + 1));
  const percentiles = random.pick([[], [50], [0, 10, 50, 99.9, 100]]);
  const history = { method: 'eth_feeHistory', params: [quantity(count), quantity(head.number), percentiles] };
  const next = { method: 'eth_baseFee', params: [] };
  return [
    ...['eth_gasPrice', 'eth_maxPriorityFeePerGas', 'eth_blobBaseFee'].map((method) =>
      question({ method, params: [] }),
    ),
    question(history),
    // It is of the block after what is pre-confirmed.
    ...(stack.length > 0
      ? []
      : [question(next, { ...history, params: ['0x1', quantity(head.number), []] }, nextBaseFee)]),
  ];
}
