import type { CallRequest, CallResult, Output, StateView } from '../../executor/interface.ts';
import { andThen } from '../../primitives/awaitable.ts';
import { parseBlockSelector } from '../../primitives/block-selector.ts';
import type { Awaitable, Hex } from '../../primitives/hex.ts';
import { MethodError } from '../errors.ts';
import { forwardUnknown } from '../forwarding.ts';
import type { Method, MethodContext, MethodSettings, RawJson } from '../method.ts';
import { addressSchema, blockParam, bytesSchema, quantitySchema } from '../schemas.ts';
import { parseCallRequest } from './call-request.ts';
import { decodeRevertReason } from './revert-reason.ts';

export const ethCall: Method = {
  name: 'eth_call',
  summary: 'Executes a call on the state of a block, without a transaction.',
  rules: ['A6', 'B5', 'B6', 'B7', 'B17'],
  params: [
    {
      name: 'transaction',
      required: true,
      description:
        '`to` (required), `from` (zero address), `gas` (the cap), `gasPrice` or `maxFeePerGas` and ' +
        '`maxPriorityFeePerGas`, `value`, `data` or `input`, `accessList`, `authorizationList`.',
      schema: {
        type: 'object',
        required: ['to'],
        properties: {
          from: addressSchema,
          to: addressSchema,
          gas: quantitySchema,
          gasPrice: quantitySchema,
          maxFeePerGas: quantitySchema,
          maxPriorityFeePerGas: quantitySchema,
          value: quantitySchema,
          data: bytesSchema,
          input: bytesSchema,
        },
      },
    },
    blockParam,
    {
      name: 'stateOverrides',
      required: false,
      description:
        'By address: `balance`, `nonce`, `code`, and `state` (all of it) or `stateDiff` (per slot).',
      schema: { type: 'object' },
    },
    {
      name: 'blockOverrides',
      required: false,
      description:
        '`number`, `difficulty`, `time`, `gasLimit`, `feeRecipient`, `prevRandao`, `baseFeePerGas`, `blobBaseFee`.',
      schema: { type: 'object' },
    },
  ],
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
  const { forward, snapshot, settings } = context;
  // What is pre-confirmed has no hash that an upstream could be asked by.
  const isPending = view === snapshot.pending?.view;
  if (forward === undefined || isPending)
    throw new MethodError({ code: 'NATIVE_CONTRACT', address, isPending });
  return forward(request, view.ref.hash, context).then((result) => renderResult(result, settings));
}

function renderResult(result: CallResult, settings: MethodSettings): RawJson {
  switch (result.kind) {
    case 'success':
      return typeof result.output === 'string' ? `"${result.output}"` : result.output;
    case 'revert': {
      const reason = settings.compat ? decodeRevertReason(hexOf(result.output)) : undefined;
      const standard = settings.compat;
      const data = result.output;
      throw new MethodError({
        code: 'CALL_REVERTED',
        data,
        standard,
        ...(reason === undefined ? {} : { reason }),
      });
    }
    case 'halt':
    case 'invalid':
      throw new MethodError({ code: 'CALL_FAILED', reason: result.message });
    case 'native':
      throw new MethodError({ code: 'NATIVE_CONTRACT', address: result.address, isPending: false });
    case 'timeout':
      throw new MethodError({ code: 'TIME_LIMIT', what: 'call', milliseconds: settings.callTimeLimitMs });
    case 'cancelled':
      throw new MethodError({ code: 'CANCELLED' });
    case 'overloaded':
      throw new MethodError({ code: 'OVERLOADED' });
  }
}

function hexOf(output: Output): Hex {
  return typeof output === 'string' ? output : (output.toString('latin1', 1, output.length - 1) as Hex);
}
