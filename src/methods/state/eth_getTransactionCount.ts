import { parseBlockSelector } from '../../primitives/block-selector.ts';
import type { Awaitable, Hex } from '../../primitives/hex.ts';
import { parseAddress } from '../../primitives/parse.ts';
import { readState } from '../forwarding.ts';
import type { Method, MethodContext, RawJson } from '../method.ts';
import { addressParam, blockParam, quantitySchema } from '../schemas.ts';

export const ethGetTransactionCount: Method = {
  name: 'eth_getTransactionCount',
  summary: 'The nonce of an account.',
  rules: ['A9', 'B5', 'B6'],
  source: 'served here; with `--pool-nonce` upstreams are asked, too',
  params: [addressParam, blockParam],
  result: {
    name: 'nonce',
    description: 'From executed state; of `pending` with `--pool-nonce` what waits in pools counts, too.',
    schema: quantitySchema,
  },
  handle(params, context) {
    const address = parseAddress(params[0], 'invalid argument 0');
    const selector = parseBlockSelector(params[1], 'invalid argument 1');
    const executed = readState(selector, { read: 'nonce', address }, context, (view) =>
      view.transactionCount(address, context),
    );
    const isPending = selector.kind === 'tag' && selector.tag === 'pending';
    return isPending && context.settings.poolNonce ? withPool(executed, address, context) : executed;
  },
};

/** The higher of the executed nonce and that of what waits in pools. */
async function withPool(
  executed: Awaitable<RawJson>,
  address: Hex,
  context: MethodContext,
): Promise<RawJson> {
  const { passOn } = context.settings.services;
  const [own, pool] = await Promise.all([executed, passOn({ kind: 'poolNonce', address }, context)]);
  const isHigher = pool.kind === 'result' && nonceOf(pool.json) > nonceOf(own.toString());
  return isHigher ? pool.json : own;
}

function nonceOf(json: string): bigint {
  return BigInt(JSON.parse(json) as string);
}
