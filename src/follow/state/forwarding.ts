import type { CallRequest, CallResult, ForwardCall } from '../../executor/interface.ts';
import { OverloadedError, StateUnavailableError } from '../../primitives/errors.ts';
import { SourceError } from '../../source/errors.ts';
import type { CallAnswer, ChainSource } from '../../source/interface.ts';

/** Has upstreams run calls that enter native contracts, at the hash of the block that they are asked for. */
export function forwarderTo(source: Pick<ChainSource, 'call'>): ForwardCall {
  return async (request, blockHash, { signal }) => {
    const { transaction, extra } = toParams(request);
    try {
      const { value } = await source.call(transaction, blockHash, extra, { signal, forRequest: true });
      return toResult(value);
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      if (error.type.code === 'busy') throw new OverloadedError({ cause: error });
      // Upstreams and their words are for the log, not for clients.
      throw new StateUnavailableError('no upstream ran the call, which enters a native contract');
    }
  };
}

/** The parameters of eth_call around the block. */
function toParams({ stateOverrides, blockOverrides, ...transaction }: CallRequest): {
  readonly transaction: Readonly<Record<string, unknown>>;
  readonly extra: readonly unknown[];
} {
  if (blockOverrides !== undefined) return { transaction, extra: [stateOverrides ?? {}, blockOverrides] };
  return { transaction, extra: stateOverrides === undefined ? [] : [stateOverrides] };
}

function toResult(answer: CallAnswer): CallResult {
  if ('output' in answer) return { kind: 'success', output: answer.output };
  const { message, data } = answer;
  if (data !== undefined || message.startsWith('execution reverted'))
    return { kind: 'revert', output: data ?? '0x' };
  return { kind: 'halt', message };
}
