import { describe, expect, it } from 'vitest';
import { runMethod, testServices } from '../../../test/support/serve/methods.ts';
import type { PassedAnswer, PassedRequest } from '../../chain/pass-on.ts';
import type { ReceiptWaiters } from '../../head/receipt-waiters.ts';
import { StateUnavailableError } from '../../primitives/errors.ts';
import type { MethodError } from '../errors.ts';
import type { NodeServices } from '../method.ts';
import { ethSendRawTransaction } from './eth_sendRawTransaction.ts';
import { ethSendRawTransactionSync } from './eth_sendRawTransactionSync.ts';

// The transaction of tests has this hash, whatever its bytes, and nonce 7.
const HASH = `0x${'0'.repeat(63)}2`;
const typeOf = ({ type }: MethodError): unknown => type;
const TAKEN: PassedAnswer = { kind: 'result', json: 'null' };

function services(
  answer: PassedAnswer,
  more: Partial<NodeServices> = {},
): NodeServices & { sent: PassedRequest[] } {
  const sent: PassedRequest[] = [];
  return {
    ...testServices,
    canSend: true,
    passOn: async (request) => {
      sent.push(request);
      return answer;
    },
    ...more,
    sent,
  };
}

/** Receipts that are there, or are not in time; `next` is the account's nonce then. */
function receipts(json: string | undefined, next?: number): { waits: number[]; receipts: ReceiptWaiters } {
  const waits: number[] = [];
  const expected = {
    read: async (ms: number) => {
      waits.push(ms);
      return json === undefined ? undefined : { json, snapshot: undefined };
    },
  };
  const take = () => ({ expect: () => expected, [Symbol.dispose]: () => {} });
  return { waits, receipts: { take, nonceOf: async () => next } as unknown as ReceiptWaiters };
}

describe('eth_sendRawTransaction', () => {
  it('sends what it has read, and answers with its hash', async () => {
    const own = services(TAKEN);
    expect(await runMethod(ethSendRawTransaction, ['0x02'], { settings: { services: own } })).toBe(HASH);
    expect(own.sent).toEqual([{ kind: 'send', raw: '0x02', from: `0x${'5e'.repeat(20)}`, nonce: 7 }]);
  });

  it('sends nothing that no pool would take', async () => {
    const own = services(TAKEN);
    const sent = runMethod(ethSendRawTransaction, ['0x'], { settings: { services: own } });
    expect(await sent.catch(typeOf)).toEqual({
      ...{ code: 'CALL_FAILED', reason: 'typed transaction too short' },
    });
    expect(own.sent).toEqual([]);
  });

  it('is not there without anybody to send to', async () => {
    expect(await runMethod(ethSendRawTransaction, ['0x02']).catch(typeOf)).toEqual({
      code: 'NOT_AVAILABLE',
      method: 'eth_sendRawTransaction',
    });
  });

  it('says that nobody took it, whatever the chain does meanwhile', async () => {
    const passOn = async () => {
      throw new StateUnavailableError('the transaction could be sent to nobody');
    };
    const own = services(TAKEN, { passOn });
    const sent = runMethod(ethSendRawTransaction, ['0x02'], { settings: { services: own } });
    expect(await sent.catch(typeOf)).toEqual({
      ...{ code: 'NOT_SENT', reason: 'the transaction could be sent to nobody' },
    });
  });

  it('passes on what is said against it', async () => {
    const error = { code: -32000, message: 'nonce too low: next nonce 9, tx nonce 7' };
    const own = services({ kind: 'error', ...error });
    const sent = runMethod(ethSendRawTransaction, ['0x02'], { settings: { services: own } });
    expect(await sent.catch(typeOf)).toMatchObject({
      code: 'UPSTREAM_ERROR',
      number: -32000,
      message: error.message,
    });
  });
});

describe('eth_sendRawTransactionSync', () => {
  const run = (params: readonly unknown[], own: NodeServices): Promise<unknown> =>
    runMethod(ethSendRawTransactionSync, params, { settings: { services: own } });

  it.each([
    [['0x02'], 2_000],
    [['0x02', 500], 500],
    [['0x02', '0x1f4'], 500],
    [['0x02', 10_000], 10_000],
    [['0x02', 10_001], 2_000],
    [['0x02', -1], 2_000],
    [['0x02', '500'], 2_000],
    [['0x02', null], 2_000],
  ])('answers %j with the receipt, for which it waits %d ms at most', async (params, ms) => {
    const { waits, receipts: found } = receipts('{"status":"0x1"}');
    expect(await run(params, services(TAKEN, { receipts: found }))).toEqual({ status: '0x1' });
    expect(waits).toEqual([ms]);
  });

  it('says that there is no receipt in time, and whether others come first', async () => {
    const late = services(TAKEN, { receipts: receipts(undefined, 7).receipts });
    expect(await run(['0x02'], late).catch(typeOf)).toEqual({
      ...{ code: 'NOT_SEEN', hash: HASH, milliseconds: 2_000 },
    });
    const early = services(TAKEN, { receipts: receipts(undefined, 5).receipts });
    expect(await run(['0x02'], early).catch(typeOf)).toEqual({
      code: 'NOT_READY',
      hash: HASH,
      nonce: 7,
      next: 5,
    });
  });

  it('waits for nothing that was not taken', async () => {
    const { waits, receipts: none } = receipts(undefined);
    const own = services({ kind: 'error', code: -32000, message: 'nonce too low' }, { receipts: none });
    expect(await run(['0x02'], own).catch(typeOf)).toMatchObject({ message: 'nonce too low' });
    expect(waits).toEqual([]);
  });
});
