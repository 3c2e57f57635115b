import type { CallRequest, CallResult, ForwardedRead, StateView } from '../executor/interface.ts';
import { andThen } from '../primitives/awaitable.ts';
import type { BlockSelector } from '../primitives/block-selector.ts';
import type { Awaitable, Hex } from '../primitives/hex.ts';
import { MethodError } from './errors.ts';
import type { MethodContext, RawJson } from './method.ts';

/** Has an upstream answer for a block whose rules are not known here, by its hash; refuses where that is not wanted. */
export function forwardUnknown(
  request: CallRequest | ForwardedRead,
  { ref }: StateView,
  context: MethodContext,
): Promise<CallResult> {
  if (context.forward === undefined) throw new MethodError({ code: 'UNKNOWN_RULES', block: ref.number });
  return context.forward(request, ref.hash, context);
}

/**
 * A piece of state: from the copy, but for what blocks whose rules are not known here write outside of their transactions, which
 * no state diff has.
 */
export function readState(
  selector: BlockSelector,
  read: ForwardedRead,
  context: MethodContext,
  own: (view: StateView) => Awaitable<Hex>,
): Awaitable<RawJson> {
  const { snapshot } = context;
  return andThen(snapshot.viewAt(selector), (view) => {
    if (!snapshot.isUnknown(view.ref, read.address)) return andThen(own(view), (value) => `"${value}"`);
    return forwardUnknown(read, view, context).then((result) => {
      if (result.kind !== 'success') throw new MethodError({ code: 'UNKNOWN_RULES', block: view.ref.number });
      return `"${String(result.output)}"`;
    });
  });
}
