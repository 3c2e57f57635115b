import { describe, expect, it } from 'vitest';
import { runMethod } from '../../../test/support/serve/methods.ts';
import { CodedError } from '../../primitives/errors.ts';
import { filterMethods } from './filter-methods.ts';
import type { FilterAnswer, FilterOrder, FilterQuestion } from './host.ts';

const wordsOf = ({ code, reason }: { readonly code: string; readonly reason?: string }): string =>
  [code, reason ?? []].flat().join(': ');
const ADDRESS = `0x${'11'.repeat(20)}`;

function start(answer: FilterAnswer = { kind: 'created', filter: '0x5' }) {
  const asked: FilterQuestion[] = [];
  const told: FilterOrder[] = [];
  const methods = new Map(
    filterMethods({
      hasNothingNew: (filter) => filter === '0x7',
      ask: async (question) => {
        asked.push(question);
        return answer;
      },
      tell: (order) => void told.push(order),
    }).map((method) => [method.name, method]),
  );
  const run = (name: string, ...params: readonly unknown[]): Promise<unknown> => {
    const method = methods.get(name);
    if (method === undefined) throw new Error(name);
    return runMethod(method, params);
  };
  const refusal = (name: string, ...params: readonly unknown[]): Promise<string> =>
    run(name, ...params).then(
      () => 'served',
      (error: unknown) => (error instanceof CodedError ? wordsOf(error.type) : String(error)),
    );
  return { run, refusal, asked, told };
}

describe('making filters (B12)', () => {
  it('asks for what the client wrote', async () => {
    const { run, asked, told } = start();
    const filter = { address: ADDRESS, toBlock: 'pending' };
    expect(await run('eth_newFilter', filter)).toBe('0x5');
    expect(await run('eth_newBlockFilter')).toBe('0x5');
    expect(await run('eth_newPendingTransactionFilter')).toBe('0x5');
    expect(asked.map((question) => question.op === 'create' && question.criteria)).toEqual([
      { kind: 'logs', filter },
      { kind: 'blocks' },
      { kind: 'transactions' },
    ]);
    expect(told).toEqual([]);
  });

  it.each([
    [{ fromBlock: '0x2', toBlock: '0x9' }, 'served'],
    [{ fromBlock: '0x99', toBlock: '0x9a' }, 'served'],
    [{ fromBlock: 'pending', toBlock: 'pending' }, 'served'],
    [{ fromBlock: 'earliest' }, 'served'],
    [{ fromBlock: '0x3', toBlock: '0x2' }, 'INVALID_PARAMS: invalid block range params'],
    [{ fromBlock: 'latest', toBlock: '0x2' }, 'INVALID_PARAMS: invalid block range params'],
    [{ fromBlock: 'pending' }, 'INVALID_PARAMS: invalid block range params'],
    [{ toBlock: 'finalized' }, 'INVALID_PARAMS: invalid argument 0: toBlock: a filter follows the head'],
    [
      { blockHash: `0x${'1'.repeat(64)}` },
      'INVALID_PARAMS: invalid argument 0: a filter is not of one block: blockHash',
    ],
    [{ address: '0x12' }, 'INVALID_PARAMS'],
    [{ topics: [[1]] }, 'INVALID_PARAMS'],
  ])('%j: %s', async (filter, expected) => {
    expect(await start().refusal('eth_newFilter', filter)).toContain(expected);
  });

  it('says why there is no room', async () => {
    const reason = 'too many filters, at most 5 a client';
    expect(await start({ kind: 'refused', reason }).refusal('eth_newBlockFilter')).toBe(
      `FILTER_REFUSED: ${reason}`,
    );
    expect(await start({ kind: 'overloaded' }).refusal('eth_newBlockFilter')).toBe('OVERLOADED');
  });
});

describe('reading filters (B12)', () => {
  it('gives changes, under the limits of eth_getLogs', async () => {
    const { run, asked, told } = start({ kind: 'changes', json: '["0x1"]', poll: 7 });
    expect(await run('eth_getFilterChanges', '0x5')).toEqual(['0x1']);
    expect(asked).toEqual([
      { op: 'poll', filter: '0x5', limits: { maxResults: 10_000, maxBytes: (10 << 20) - 1_024 } },
    ]);
    expect(told).toEqual([{ op: 'settle', filter: '0x5', poll: 7, isSent: true }]);
  });

  it('asks nobody where it is known that there is nothing new', async () => {
    const { run, asked, told } = start();
    expect(await run('eth_getFilterChanges', '0x7')).toEqual([]);
    expect([...asked, ...told]).toEqual([]);
  });

  it('gives all logs as eth_getLogs does, of filters of logs only', async () => {
    const criteria = { kind: 'logs', filter: { fromBlock: '0x1', toBlock: '0x2' } } as const;
    expect(await start({ kind: 'criteria', criteria }).run('eth_getFilterLogs', '0x5')).toHaveLength(3);
    const ofBlocks = start({ kind: 'criteria', criteria: { kind: 'blocks' } });
    expect(await ofBlocks.refusal('eth_getFilterLogs', '0x5')).toBe(
      'FILTER_NOT_FOUND: it is not one of logs',
    );
  });

  it('says that there is none', async () => {
    const unknown = start({ kind: 'unknown' });
    for (const method of ['eth_getFilterChanges', 'eth_getFilterLogs'])
      expect(await unknown.refusal(method, '0x5')).toBe(
        'FILTER_NOT_FOUND: it has ended, or was made at another node',
      );
    expect(await unknown.run('eth_uninstallFilter', '0x5')).toBe(false);
    const lost = start({ kind: 'unknown', reason: 'its history is gone' });
    expect(await lost.refusal('eth_getFilterChanges', '0x5')).toBe('FILTER_NOT_FOUND: its history is gone');
    expect(await unknown.refusal('eth_getFilterChanges', 5)).toMatch(/^INVALID_PARAMS/);
  });

  it('fails where the thread that keeps filters does', async () => {
    expect(await start({ kind: 'failed' }).refusal('eth_getFilterChanges', '0x5')).toMatch(
      /failed to answer/,
    );
  });

  it('ends a filter once its client is told so', async () => {
    const { run, told } = start({ kind: 'criteria', criteria: { kind: 'blocks' } });
    expect(await run('eth_uninstallFilter', '0x5')).toBe(true);
    expect(told).toEqual([{ op: 'remove', filter: '0x5' }]);
  });
});
