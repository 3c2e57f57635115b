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

/** A piece of state at the block that a selector names, as JSON. */
export function readState(
  selector: BlockSelector,
  read: ForwardedRead,
  context: MethodContext,
  own: (view: StateView) => Awaitable<Hex>,
): Awaitable<RawJson> {
  return andThen(context.snapshot.viewAt(selector), (view) =>
    andThen(
      readFrom(view, read, context, () => own(view)),
      (value) => `"${value}"`,
    ),
  );
}

/**
 * A piece of state: from the copy, but for what blocks whose rules are not known here write outside of their transactions, which
 * no state diff has. Any balance may be among that.
 */
export function readFrom(
  view: StateView,
  read: ForwardedRead,
  context: MethodContext,
  own: () => Awaitable<Hex>,
): Awaitable<Hex> {
  const { snapshot } = context;
  const isKnown = !snapshot.isUnknown(view.ref, read.read === 'balance' ? undefined : read.address);
  if (isKnown) return own();
  return forwardUnknown(read, view, context).then((result) => {
    if (result.kind !== 'success') throw new MethodError({ code: 'UNKNOWN_RULES', block: view.ref.number });
    return String(result.output) as Hex;
  });
}
