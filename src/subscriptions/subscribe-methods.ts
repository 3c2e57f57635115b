import { MethodError } from '../methods/errors.ts';
import type { Method, MethodContext } from '../methods/method.ts';
import { anyUint256 } from '../methods/param-schemas.ts';
import { InvalidParamsError } from '../primitives/errors.ts';
import { parseQuantity } from '../primitives/parse.ts';
import { OPTION_SCHEMAS } from './option-schemas.ts';
import { parseRequest, SUBSCRIPTION_KINDS } from './request.ts';
import { SessionRequest } from './session.ts';

function requestOf({ session }: MethodContext): SessionRequest {
  if (session instanceof SessionRequest) return session;
  throw new MethodError({ code: 'NO_NOTIFICATIONS' });
}

const idSchema = { type: 'string', pattern: '^0x[0-9a-f]+$' };

const ethSubscribe: Method = {
  name: 'eth_subscribe',
  summary:
    'Subscribes to logs, blocks, flashblocks, transactions, receipts or state changes. WebSocket only.',
  rules: ['A10', 'B11'],
  cost: 5,
  params: [
    {
      name: 'kind',
      required: true,
      description: 'What to hear of.',
      schema: { enum: SUBSCRIPTION_KINDS },
    },
    {
      name: 'options',
      required: false,
      description:
        '`logs`, `pendingLogs`: a filter with `address` and `topics`, and `fromBlock` (with `fromLogIndex`) for ' +
        'history first, and `points: true` to be told the `point` that each message can be read at. ' +
        '`newFlashblockTransactions`, `newPendingTransactions`: true for whole transactions. ' +
        '`stateChanges`: addresses. `transactionReceipts`: `{transactionHashes}`, or all.',
      schema: { anyOf: [...new Set(Object.values(OPTION_SCHEMAS))] },
    },
  ],
  result: { name: 'subscription', description: 'The id that notifications carry.', schema: idSchema },
  handle(params, context) {
    const request = requestOf(context);
    const wanted = parseRequest(params, context, request.session.subscriber.newest);
    return `"${request.subscribe(context, wanted)}"`;
  },
};

const ethUnsubscribe: Method = {
  name: 'eth_unsubscribe',
  summary: 'Ends a subscription of this connection.',
  rules: ['B11'],
  params: [{ name: 'subscription', required: true, description: 'Its id.', schema: anyUint256 }],
  result: {
    name: 'ended',
    description: 'Always true; an unknown id is an error.',
    schema: { type: 'boolean' },
  },
  handle(params, context) {
    const request = requestOf(context);
    const id = params[0];
    if (typeof id !== 'string') throw new InvalidParamsError('invalid argument 0: expected a string');
    request.unsubscribe(context, parseQuantity(id, 256, 'invalid argument 0'));
    return 'true';
  },
};

export const SUBSCRIPTION_METHODS: readonly Method[] = [ethSubscribe, ethUnsubscribe];
