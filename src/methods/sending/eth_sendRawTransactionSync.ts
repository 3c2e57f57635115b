import { parseUint64 } from '../../primitives/parse.ts';
import { MethodError } from '../errors.ts';
import type { Method, MethodContext, SyncLimits } from '../method.ts';
import { receiptSchema } from '../schemas.ts';
import { parseSendable, rawTransactionParam, readSendable, type Sendable } from './send.ts';

const NAME = 'eth_sendRawTransactionSync';

export const ethSendRawTransactionSync: Method = {
  name: NAME,
  summary: 'Sends a signed transaction on and waits for its receipt, pre-confirmed included (EIP-7966).',
  rules: ['B6', 'B12'],
  cost: 10,
  source: 'sent on, the receipt served here',
  params: [
    rawTransactionParam,
    {
      name: 'timeout',
      required: false,
      description:
        'Milliseconds to wait, a number or a quantity. Missing, invalid or above `--sync-timeout-max-ms`: `--sync-timeout-ms`.',
      // Nothing is refused: what cannot be read is as if it was missing (EIP-7966).
      schema: {},
    },
  ],
  result: {
    name: 'receipt',
    description: 'As eth_getTransactionReceipt gives it.',
    schema: receiptSchema,
  },
  async handle(params, context) {
    const { sync, services } = context.settings;
    const raw = parseSendable(NAME, params[0], context);
    const timeoutMs = readTimeout(params[1], sync);
    // Whoever finds no place costs no check of a signature.
    using place = services.receipts.take(context.client);
    const transaction = readSendable(raw, context);
    // Before it is sent: it may be executed before anybody says that it was taken.
    const wait = place.expect(transaction.hash);
    await transaction.send();
    const receipt = await wait.read(timeoutMs, context.signal);
    if (receipt === undefined) throw await unseen(transaction, timeoutMs, context);
    context.answerFrom(receipt.snapshot);
    return receipt.json;
  },
};

function readTimeout(value: unknown, { timeoutMs, maxTimeoutMs }: SyncLimits): number {
  const ms = typeof value === 'number' ? value : quantityOf(value);
  return ms !== undefined && Number.isInteger(ms) && ms > 0 && ms <= maxTimeoutMs ? ms : timeoutMs;
}

function quantityOf(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^0x(?:0|[1-9a-f][0-9a-f]{0,15})$/i.test(value)) return undefined;
  return Number(parseUint64(value, 'timeout'));
}

/** Why there is no receipt: others of the account come first, or it takes longer. */
async function unseen(
  { hash, from, nonce }: Sendable,
  milliseconds: number,
  context: MethodContext,
): Promise<MethodError> {
  const next = await context.settings.services.receipts.nonceOf(from, context);
  if (next !== undefined && next < nonce) return new MethodError({ code: 'NOT_READY', hash, nonce, next });
  return new MethodError({ code: 'NOT_SEEN', hash, milliseconds });
}
