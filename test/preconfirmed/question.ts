import { type Hex, zeroHash } from 'viem';
import type { Answer, Call } from '../support/servers/rpc-client.ts';
import type { Moment } from './rig.ts';

export type Kind =
  | 'call'
  | 'slot'
  | 'nonce'
  | 'balance'
  | 'code'
  | 'block'
  | 'transaction'
  | 'receipts'
  | 'logs';

/** A request to ours, and what op-geth is asked to know the answer. */
export interface Question {
  readonly kind: Kind;
  readonly ours: Call;
  readonly oracle: readonly Call[];
  /** The right answer, from what op-geth said. */
  expected(answers: readonly Answer[]): Answer;
}

/** A tag, at a moment. */
export interface Reading {
  readonly tag: 'pending' | 'latest';
  readonly moment: Moment;
}

/** The hash of the block that a reading is of. */
export function tipOf({ tag, moment: { head, stack } }: Reading): Hex {
  return (tag === 'pending' ? stack.at(-1)?.hash : undefined) ?? head.hash;
}

/** The block hash is not known before a block is sealed (B6). */
export function unsealed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unsealed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [key, key === 'blockHash' ? zeroHash : unsealed(field)]),
  );
}

/** The answer to the only call. */
export const only = (answers: readonly Answer[]): Answer => {
  const [answer] = answers;
  if (answer === undefined) throw new Error('op-geth was not asked');
  return answer;
};

/** A question about the state of one block. */
export function stateQuestion(
  kind: Kind,
  method: string,
  reading: Reading,
  params: (block: unknown) => readonly unknown[],
): Question {
  const oracle = [{ method, params: params({ blockHash: tipOf(reading) }) }];
  return { kind, ours: { method, params: params(reading.tag) }, oracle, expected: only };
}
