import type { PassedAnswer } from '../chain/pass-on.ts';
import type { CallRequest, CallResult, ForwardedRead, StateView } from '../executor/interface.ts';
import { andThen } from '../primitives/awaitable.ts';
import type { BlockSelector } from '../primitives/block-selector.ts';
import type { Awaitable, Hex } from '../primitives/hex.ts';
import { callFailure } from './calls/call-failure.ts';
import { MethodError } from './errors.ts';
import type { MethodContext, RawJson } from './method.ts';

/** A request as an upstream is asked it, where it cannot be answered here. */
export interface UpstreamRequest {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A request with its block, at that place of its parameters, named by hash. */
export function atBlock(request: UpstreamRequest, at: number, { ref }: StateView): UpstreamRequest {
  const params = [...request.params];
  params[at] = { blockHash: ref.hash };
  return { ...request, params };
}

/** Has an upstream answer for a block whose rules are not known here, in its own words but for reverts. */
export function passUnknown(
  request: UpstreamRequest,
  block: number,
  context: MethodContext,
): Promise<RawJson> {
  if (context.forward === undefined) throw new MethodError({ code: 'UNKNOWN_RULES', block });
  return pass(request, context);
}

/** The same for what enters a native contract. */
export function passNative(
  request: UpstreamRequest,
  address: Hex,
  view: StateView,
  context: MethodContext,
): Promise<RawJson> {
  const isPending = isPreconfirmed(view, context);
  if (context.forward === undefined || isPending)
    throw new MethodError({ code: 'NATIVE_CONTRACT', address, isPending });
  return pass(request, context);
}

/** What is pre-confirmed has no hash that an upstream could be asked by. */
export function isPreconfirmed(view: StateView, { snapshot }: MethodContext): boolean {
  return view === snapshot.pending?.view;
}

async function pass(request: UpstreamRequest, context: MethodContext): Promise<RawJson> {
  context.namesUpstream();
  const answer = await context.settings.services.passOn({ kind: 'request', ...request }, context);
  if (answer.kind === 'result') return answer.json;
  const output = revertOf(answer);
  if (output !== undefined) throw callFailure({ kind: 'revert', output }, context.settings);
  throw new MethodError({ ...answer, code: 'UPSTREAM_ERROR', number: answer.code });
}

/** What a call reverted with, where an upstream says that it did. */
function revertOf({ message, data }: Extract<PassedAnswer, { kind: 'error' }>): Hex | undefined {
  if (!message.startsWith('execution reverted')) return undefined;
  const value: unknown = data === undefined ? undefined : JSON.parse(data);
  return typeof value === 'string' && /^0x(?:[0-9a-f]{2})*$/i.test(value) ? (value as Hex) : '0x';
}

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
