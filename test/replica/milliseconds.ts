import type { Answer } from '../support/servers/rpc-client.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * An answer without the milliseconds of its logs, where they are what block `number` was told to have (B18); where they are
 * wrong or missing, with what is wrong. op-geth has no such field.
 */
export function withoutMilliseconds(answer: Answer, partOf: (number: number) => number): Answer {
  return 'error' in answer ? answer : { result: strip(answer.result, partOf) };
}

function strip(value: unknown, partOf: (number: number) => number): unknown {
  if (Array.isArray(value)) return value.map((item) => strip(item, partOf));
  if (typeof value !== 'object' || value === null) return value;
  const fields = value as Fields;
  if (!('logIndex' in fields)) {
    return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, strip(field, partOf)]));
  }
  const { blockTimestampMs = 'missing', ...log } = fields;
  const expected = 1_000 * Number(log['blockTimestamp']) + partOf(Number(log['blockNumber']));
  return blockTimestampMs === `0x${expected.toString(16)}` ? log : { ...log, blockTimestampMs };
}
