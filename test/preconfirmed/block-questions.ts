import type { Hex } from 'viem';
import { asFields, type Fields } from '../differential/request-shape.ts';
import type { Random } from '../support/random.ts';
import type { Answer, Call } from '../support/servers/rpc-client.ts';
import type { Workload } from '../support/workload/workload.ts';
import { type Kind, only, type Question, type Reading, stateQuestion, tipOf, unsealed } from './question.ts';

/** Transactions that are asked for one by one. */
const transactionsAsked = 3;
const accountsAsked = 6;
const quantity = (value: number): Hex => `0x${value.toString(16)}`;

/** A block of op-geth's as we write it: it has no time with transactions, and leaves a field of deposits out. */
function asOurs(result: unknown): unknown {
  const block = asFields(result);
  if (block === undefined || !Array.isArray(block['transactions'])) return result;
  const timed = (transaction: unknown): unknown => {
    const fields = asFields(transaction);
    return fields === undefined ? transaction : ofOurs(fields, block['timestamp']);
  };
  return { ...block, transactions: block['transactions'].map(timed) };
}

function ofOurs(transaction: Fields, timestamp: unknown): Fields {
  const yParity = transaction['type'] === '0x7e' ? { yParity: '0x0' } : {};
  return { ...transaction, ...yParity, blockTimestamp: timestamp };
}

function isOpen({ tag, moment }: Reading): boolean {
  return tag === 'pending' && moment.stack.length > 0;
}

/** A block or header has a hash of its own, which is zero like all that name it before it is sealed. */
function sealedAs(reading: Reading, result: unknown): unknown {
  if (!isOpen(reading)) return result;
  const fields = asFields(unsealed(result));
  return fields !== undefined && 'parentHash' in fields
    ? { ...fields, hash: `0x${'0'.repeat(64)}` }
    : unsealed(result);
}

function question(kind: Kind, reading: Reading, ours: Call, oracle: Call): Question {
  const expected = (answers: readonly Answer[]): Answer => {
    const answer = only(answers);
    return 'error' in answer ? answer : { result: sealedAs(reading, asOurs(answer.result)) };
  };
  return { kind, ours, oracle: [oracle], expected };
}

/** The same of a transaction, which op-geth gives without the time of its block. */
function transactionQuestion(reading: Reading, ours: Call, oracle: Call): Question {
  const block = { method: 'eth_getBlockByHash', params: [tipOf(reading), false] };
  const expected = ([answer, its]: readonly Answer[]): Answer => {
    if (answer === undefined || its === undefined || 'error' in answer || 'error' in its)
      return answer ?? only([]);
    const [fields, timestamp] = [asFields(answer.result), asFields(its.result)?.['timestamp']];
    return { result: sealedAs(reading, fields && ofOurs(fields, timestamp)) };
  };
  return { kind: 'transaction', ours, oracle: [oracle, block], expected };
}

/** Blocks, headers, transactions, receipts by hash, balances and code. */
export function blockQuestions(reading: Reading, random: Random, workload: Workload): readonly Question[] {
  const tip = tipOf(reading);
  const { tag, moment } = reading;
  const whole = random.chance(0.5);
  const hashes = isOpen(reading) ? (moment.stack.at(-1)?.transactions ?? []) : [];
  const places = random.list(hashes.length === 0 ? 1 : transactionsAsked, () =>
    random.below(Math.max(1, hashes.length)),
  );
  const known = places.flatMap((index) => hashes[index] ?? []);
  const accounts = random.list(accountsAsked, () => random.pick(workload.catalogue.addresses));
  const contracts = random.list(2, () => random.pick(workload.catalogue.contracts));
  const asked = (method: string, ...params: unknown[]): Call => ({ method, params });
  return [
    question(
      'block',
      reading,
      asked('eth_getBlockByNumber', tag, whole),
      asked('eth_getBlockByHash', tip, whole),
    ),
    question('block', reading, asked('eth_getHeaderByNumber', tag), asked('eth_getHeaderByHash', tip)),
    question(
      'block',
      reading,
      asked('eth_getBlockTransactionCountByNumber', tag),
      asked('eth_getBlockTransactionCountByHash', tip),
    ),
    ...places.map((index) =>
      transactionQuestion(
        reading,
        asked('eth_getTransactionByBlockNumberAndIndex', tag, quantity(index)),
        asked('eth_getTransactionByBlockHashAndIndex', tip, quantity(index)),
      ),
    ),
    // op-geth knows a transaction of a partial block by its place only.
    ...places.flatMap((index) => {
      const hash = hashes[index];
      if (hash === undefined) return [];
      const oracle = asked('eth_getTransactionByBlockHashAndIndex', tip, quantity(index));
      return [transactionQuestion(reading, asked('eth_getTransactionByHash', hash), oracle)];
    }),
    ...known.map((hash) => receiptQuestion(reading, hash)),
    ...accounts.map((address) =>
      stateQuestion('balance', 'eth_getBalance', reading, (block) => [address, block]),
    ),
    ...contracts.map((address) => stateQuestion('code', 'eth_getCode', reading, (block) => [address, block])),
  ];
}

/** A receipt by hash: op-geth has those of a partial block all at once. */
function receiptQuestion(reading: Reading, hash: Hex): Question {
  const expected = (answers: readonly Answer[]): Answer => {
    const answer = only(answers);
    if ('error' in answer || !Array.isArray(answer.result)) return answer;
    const its = answer.result.find((receipt) => asFields(receipt)?.['transactionHash'] === hash);
    return { result: unsealed(its ?? null) };
  };
  return {
    ...{ kind: 'receipts', expected },
    ours: { method: 'eth_getTransactionReceipt', params: [hash] },
    oracle: [{ method: 'eth_getBlockReceipts', params: [tipOf(reading)] }],
  };
}
