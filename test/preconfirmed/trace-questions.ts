import type { Hex } from 'viem';
import { asFields } from '../differential/request-shape.ts';
import type { Random } from '../support/random.ts';
import type { Answer } from '../support/servers/rpc-client.ts';
import { only, type Question, type Reading, tipOf } from './question.ts';

/** Small ones: every opcode of a block would be most of what is compared. */
const tracers = [
  { tracer: 'callTracer', tracerConfig: { withLog: true } },
  { tracer: 'prestateTracer' },
  { tracer: 'prestateTracer', tracerConfig: { diffMode: true } },
  { tracer: '4byteTracer' },
] as const;

/** Where base fees go: op-geth's prestate tracer lists it with every transaction, ours with those that name it. */
const baseFeeVault = '0x4200000000000000000000000000000000000019';

/** A trace of op-geth's as we give it: without the vault, and without the index of logs, which geth 1.16.7 does not have either. */
function asOurs(trace: unknown): unknown {
  if (Array.isArray(trace)) return trace.map(asOurs);
  const fields = asFields(trace);
  if (fields === undefined) return trace;
  const kept = Object.entries(fields).filter(
    ([key]) => key !== baseFeeVault && !(key === 'index' && 'position' in fields),
  );
  return Object.fromEntries(kept.map(([key, inner]) => [key, asOurs(inner)]));
}

function expectedBlock(answers: readonly Answer[]): Answer {
  const answer = only(answers);
  return 'error' in answer ? answer : { result: asOurs(answer.result) };
}

/** Traces of a block and of one of its transactions: op-geth knows those of a partial block by the block only. */
export function traceQuestions(reading: Reading, random: Random): readonly Question[] {
  const config = random.pick(tracers);
  const { tag, moment } = reading;
  const oracle = [{ method: 'debug_traceBlockByHash', params: [tipOf(reading), config] }];
  const block: Question = {
    ...{ kind: 'call', oracle, expected: expectedBlock },
    ours: { method: 'debug_traceBlockByNumber', params: [tag, config] },
  };
  const hashes = tag === 'pending' ? (moment.stack.at(-1)?.transactions ?? []) : [];
  if (hashes.length === 0) return [block];
  const hash: Hex = random.pick(hashes);
  const expected = (answers: readonly Answer[]): Answer => {
    const answer = expectedBlock(answers);
    if ('error' in answer || !Array.isArray(answer.result)) return answer;
    const its = answer.result.find((trace) => asFields(trace)?.['txHash'] === hash);
    return { result: asFields(its)?.['result'] ?? null };
  };
  const ours = { method: 'debug_traceTransaction', params: [hash, config] };
  return [block, { kind: 'call', ours, oracle, expected }];
}
