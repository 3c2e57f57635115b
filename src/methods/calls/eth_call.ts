import type { CallRequest, CallResult, StateView } from '../../executor/interface.ts';
import { andThen } from '../../primitives/awaitable.ts';
import { parseBlockSelector } from '../../primitives/block-selector.ts';
import type { Awaitable, Hex } from '../../primitives/hex.ts';
import { MethodError } from '../errors.ts';
import { forwardUnknown, isPreconfirmed } from '../forwarding.ts';
import type { Method, MethodContext, MethodSettings, RawJson } from '../method.ts';
import { blockParam, bytesSchema } from '../schemas.ts';
import { callFailure } from './call-failure.ts';
import { blockOverridesParam, stateOverridesParam, transactionParam } from './call-params.ts';
import { parseCallRequest } from './call-request.ts';

export const ethCall: Method = {
  name: 'eth_call',
  summary: 'Executes a call on the state of a block, without a transaction.',
  rules: ['A6', 'B5', 'B6', 'B7', 'B17'],
  cost: 4,
  params: [transactionParam(['to']), blockParam, stateOverridesParam, blockOverridesParam],
  result: { name: 'output', description: 'The returned bytes.', schema: bytesSchema },
  handle(params, context) {
    const { snapshot, settings } = context;
    const request = parseCallRequest(params[0], params[2], params[3], {
      chainId: settings.chainId,
      gasCap: settings.gasCap,
      requireTo: !settings.compat,
    });
    const selector = parseBlockSelector(params[1], 'invalid argument 1');
    return andThen(snapshot.viewAt(selector), (view) => {
      if (snapshot.isUnknown(view.ref))
        return forwardUnknown(request, view, context).then((result) => renderResult(result, settings));
      return andThen(view.call(request, context), (result) =>
        result.kind === 'native'
          ? forwardCall(request, view, result.address, context)
          : renderResult(result, settings),
      );
    });
  },
};

/** An upstream's answer to a call that enters a native contract: of the same block, by its hash. */
function forwardCall(
  request: CallRequest,
  view: StateView,
  address: Hex,
  context: MethodContext,
): Awaitable<RawJson> {
  const { forward, settings } = context;
  const isPending = isPreconfirmed(view, context);
  if (forward === undefined || isPending)
    throw new MethodError({ code: 'NATIVE_CONTRACT', address, isPending });
  return forward(request, view.ref.hash, context).then((result) => renderResult(result, settings));
}

function renderResult(result: CallResult, settings: MethodSettings): RawJson {
  if (result.kind !== 'success') throw callFailure(result, settings);
  return typeof result.output === 'string' ? `"${result.output}"` : result.output;
}
