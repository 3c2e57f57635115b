import type { CallRequest, Query } from '../../executor/interface.ts';
import { andThen } from '../../primitives/awaitable.ts';
import type { BlockSelector } from '../../primitives/block-selector.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import { atBlock, passNative, passUnknown, type UpstreamRequest } from '../forwarding.ts';
import type { MethodContext, RawJson } from '../method.ts';
import { callFailure } from './call-failure.ts';

/**
 * What is asked about a call at the block that a selector names, which stands at `at` of the request's parameters. Where the rules are not known
 * here, or it enters a native contract, an upstream is asked.
 */
export function queryCall(
  query: Query,
  call: CallRequest,
  { selector, at, ...request }: UpstreamRequest & { readonly selector: BlockSelector; readonly at: number },
  context: MethodContext,
): Awaitable<RawJson> {
  const { snapshot, settings } = context;
  return andThen(snapshot.viewAt(selector), (view) => {
    if (snapshot.isUnknown(view.ref))
      return passUnknown(atBlock(request, at, view), view.ref.number, context);
    return andThen(view.query(query, call, context), (result) => {
      if (result.kind === 'answer') return result.json;
      if (result.kind !== 'native') throw callFailure(result, settings);
      return passNative(atBlock(request, at, view), result.address, view, context);
    });
  });
}
