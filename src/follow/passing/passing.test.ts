import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { PassedAnswer, PassedRequest } from '../../chain/pass-on.ts';
import { OverloadedError } from '../../primitives/errors.ts';
import { SourceError } from '../../source/errors.ts';
import { Passing } from './passing.ts';

const CONTEXT = { client: 'test', signal: new AbortController().signal };
const FROM = `0x${'5e'.repeat(20)}` as const;
const SEND: PassedRequest = { kind: 'send', raw: '0x02', from: FROM, nonce: 7 };
const TAKEN: PassedAnswer = { kind: 'result', json: '"0xhash"' };

function refusal(message: string, code = -32_000): PassedAnswer {
  return { kind: 'error', code, message };
}

/** Passes on to somebody who answers by method. */
function passing(answers: Readonly<Record<string, PassedAnswer | Error>>): Passing {
  const target = {
    source: {
      passOn: async (method: string) => {
        const value = answers[method] ?? new SourceError({ code: 'unreachable' });
        if (value instanceof Error) throw value;
        return { value, upstream: 'test' };
      },
    },
    prefer: () => undefined,
  };
  return new Passing({ send: target, upstream: target, registry: new Registry() });
}

describe('sending', () => {
  it.each([TAKEN, refusal('already known'), refusal('AlreadyKnown', -32_010)])(
    'is done when it is taken, or known: %j',
    async (answer) => {
      const { passOn } = passing({ eth_sendRawTransaction: answer });
      expect(await passOn(SEND, CONTEXT)).toMatchObject({ kind: 'result' });
    },
  );

  it.each([
    ['nonce too low: next nonce 9, tx nonce 7', -32_000, 'nonce too low: next nonce 9, tx nonce 7', -32_000],
    ['replacement transaction underpriced', -32_000, 'replacement transaction underpriced', -32_000],
    [
      'max fee per gas less than block base fee: x',
      -32_003,
      'max fee per gas less than block base fee: x',
      -32_003,
    ],
    ['OldNonce, Current nonce: 9', -32_010, 'nonce too low: OldNonce, Current nonce: 9', -32_000],
    [
      'InsufficientFunds, Account balance: 0',
      -32_010,
      'insufficient funds for gas * price + value: InsufficientFunds, Account balance: 0',
      -32_000,
    ],
  ])('passes on %j (%d) in words that clients know', async (message, code, words, number) => {
    const { passOn } = passing({ eth_sendRawTransaction: refusal(message, code) });
    expect(await passOn(SEND, CONTEXT)).toEqual({ kind: 'error', code: number, message: words });
  });

  it('says when nobody takes it, and when there is too much under way', async () => {
    await expect(passing({}).passOn(SEND, CONTEXT)).rejects.toMatchObject({
      type: { code: 'STATE_UNAVAILABLE', reason: 'the transaction could be sent to nobody' },
    });
    const busy = passing({ eth_sendRawTransaction: new SourceError({ code: 'busy' }) });
    await expect(busy.passOn(SEND, CONTEXT)).rejects.toThrow(OverloadedError);
  });
});

describe('the nonce with what waits in pools', () => {
  const ASK: PassedRequest = { kind: 'poolNonce', address: FROM };

  it("is the higher of ours and the upstream's", async () => {
    const nonce = (json: string): PassedAnswer => ({ kind: 'result', json });
    const { passOn } = passing({ eth_sendRawTransaction: TAKEN, eth_getTransactionCount: nonce('"0x5"') });
    expect(await passOn(ASK, CONTEXT)).toEqual(nonce('"0x5"'));
    await passOn(SEND, CONTEXT);
    expect(await passOn(ASK, CONTEXT)).toEqual(nonce('"0x8"'));
  });

  it('is ours where no upstream says one, and no nonce where what was sent was refused', async () => {
    const { passOn } = passing({ eth_sendRawTransaction: TAKEN });
    await passOn(SEND, CONTEXT);
    expect(await passOn(ASK, CONTEXT)).toEqual({ kind: 'result', json: '"0x8"' });
    const refused = passing({ eth_sendRawTransaction: refusal('nonce too low') });
    await refused.passOn(SEND, CONTEXT);
    expect(await refused.passOn(ASK, CONTEXT)).toEqual({ kind: 'result', json: '"0x0"' });
  });
});
