import type { Method } from '../method.ts';
import { hashSchema } from '../schemas.ts';
import { parseSendable, rawTransactionParam, readSendable } from './send.ts';

export const ethSendRawTransaction: Method = {
  name: 'eth_sendRawTransaction',
  summary: 'Sends a signed transaction on, to `--send-to` or the leading upstream.',
  rules: ['B12'],
  cost: 5,
  source: 'sent on',
  params: [rawTransactionParam],
  result: { name: 'hash', description: 'The hash of the transaction.', schema: hashSchema },
  async handle(params, context) {
    const transaction = readSendable(parseSendable('eth_sendRawTransaction', params[0], context), context);
    await transaction.send();
    return `"${transaction.hash}"`;
  },
};
