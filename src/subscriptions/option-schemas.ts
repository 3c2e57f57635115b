import { rangeFilterSchema } from '../methods/logs/log-range.ts';
import type { JsonSchema } from '../methods/method.ts';
import { anyAddress, anyHash, anyIndex, orNull } from '../methods/param-schemas.ts';
import type { SubscriptionKind } from './request.ts';

const nothing: JsonSchema = { type: 'null' };
const whole: JsonSchema = { type: 'boolean' };
const logs = rangeFilterSchema({
  toBlock: { enum: ['latest', 'pending', null] },
  fromLogIndex: orNull(anyIndex),
});

/** What the second parameter of eth_subscribe may be, where it is not left out or null. */
export const OPTION_SCHEMAS: Readonly<Record<SubscriptionKind, JsonSchema>> = {
  logs,
  pendingLogs: logs,
  newHeads: nothing,
  newFlashblocks: nothing,
  newFlashblockTransactions: whole,
  newPendingTransactions: whole,
  stateChanges: { type: 'array', items: anyAddress, minItems: 1, maxItems: 1000 },
  transactionReceipts: {
    type: 'object',
    properties: { transactionHashes: orNull({ type: 'array', items: anyHash, maxItems: 1000 }) },
  },
};
