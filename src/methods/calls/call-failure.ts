import type { CallResult, Output } from '../../executor/interface.ts';
import type { Hex } from '../../primitives/hex.ts';
import { MethodError } from '../errors.ts';
import type { MethodSettings } from '../method.ts';
import { decodeRevertReason } from './revert-reason.ts';

/** Why a call, or what is asked about one, has no answer. */
export function callFailure(
  result: Exclude<CallResult, { readonly kind: 'success' }>,
  settings: MethodSettings,
): MethodError {
  switch (result.kind) {
    case 'revert': {
      const reason = settings.compat ? decodeRevertReason(hexOf(result.output)) : undefined;
      return new MethodError({
        code: 'CALL_REVERTED',
        data: result.output,
        standard: settings.compat,
        ...(reason === undefined ? {} : { reason }),
      });
    }
    case 'halt':
    case 'invalid':
      return new MethodError({ code: 'CALL_FAILED', reason: result.message });
    case 'native':
      return new MethodError({ code: 'NATIVE_CONTRACT', address: result.address, isPending: false });
    case 'timeout':
      return new MethodError({ code: 'TIME_LIMIT', what: 'call', milliseconds: settings.callTimeLimitMs });
    case 'cancelled':
      return new MethodError({ code: 'CANCELLED' });
    case 'overloaded':
      return new MethodError({ code: 'OVERLOADED' });
  }
}

function hexOf(output: Output): Hex {
  return typeof output === 'string' ? output : (output.toString('latin1', 1, output.length - 1) as Hex);
}
