import type { CallRequest, Query } from '../../executor/interface.ts';
import { andThen } from '../../primitives/awaitable.ts';
import type { BlockSelector } from '../../primitives/block-selector.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import { MethodError } from '../errors.ts';
import type { MethodContext, RawJson } from '../method.ts';
import { callFailure } from './call-failure.ts';

/** What is asked about a call at the block that a selector names. Where the rules are not known here it is refused. */
export function queryCall(
  query: Query,
  request: CallRequest,
  selector: BlockSelector,
  context: MethodContext,
): Awaitable<RawJson> {
  const { snapshot, settings } = context;
  return andThen(snapshot.viewAt(selector), (view) => {
    if (snapshot.isUnknown(view.ref)) {
      throw new MethodError({ code: 'UNKNOWN_RULES', block: view.ref.number });
    }
    return andThen(view.query(query, request, context), (result) => {
      if (result.kind !== 'answer') throw callFailure(result, settings);
      return result.json;
    });
  });
}
