import type { StateKey } from '../../chain/state-key.ts';
import type { CallRequest, CallResult, ForwardCall, ForwardedRead } from '../../executor/interface.ts';
import { OverloadedError, StateUnavailableError } from '../../primitives/errors.ts';
import { fromHex, type Hex, toHex } from '../../primitives/hex.ts';
import { toQuantity } from '../../primitives/parse.ts';
import { SourceError } from '../../source/errors.ts';
import type { AccountState, CallAnswer, ChainSource } from '../../source/interface.ts';

/** Has upstreams run calls that cannot be run here, and read what is not known, at the hash of the block that is asked for. */
export function forwarderTo(source: Pick<ChainSource, 'call' | 'state'>): ForwardCall {
  return async (request, blockHash, { signal }) => {
    try {
      if ('read' in request) return await readFrom(source, request, blockHash, signal);
      const { transaction, extra } = toParams(request);
      const { value } = await source.call(transaction, blockHash, extra, { signal, forRequest: true });
      return toResult(value);
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      if (error.type.code === 'busy') throw new OverloadedError({ cause: error });
      // Upstreams and their words are for the log, not for clients.
      throw new StateUnavailableError('no upstream answered what cannot be answered here');
    }
  };
}

async function readFrom(
  source: Pick<ChainSource, 'state'>,
  { read: what, address, slot }: ForwardedRead,
  blockHash: Hex,
  signal: AbortSignal,
): Promise<CallResult> {
  const of = fromHex(address);
  const key: StateKey =
    slot === undefined
      ? { kind: 'account', address: of }
      : { kind: 'slot', address: of, slot: fromHex(slot) };
  const [read] = await source.state([key], blockHash, { signal, forRequest: true });
  if (read?.kind === 'slot') return { kind: 'success', output: toHex(read.value) };
  if (read?.kind === 'account') return { kind: 'success', output: partOf(read.account, what) };
  throw new StateUnavailableError('no upstream knows it');
}

function partOf({ nonce, balance, code }: AccountState, what: ForwardedRead['read']): Hex {
  if (what === 'code') return toHex(code);
  return toQuantity(what === 'balance' ? balance : nonce);
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
