import type { Hex } from '../../primitives/hex.ts';
import { parseBytes } from '../../primitives/parse.ts';
import type { CallAnswer, JsonObject, ReadOptions, UpstreamAnswer } from '../interface.ts';
import type { Upstreams } from '../pool/upstreams.ts';
import { classify, type UpstreamRpcError } from '../transport/json-rpc.ts';
import { shaped } from './shape.ts';

const METHOD = 'eth_call';
/** Codes of calls that failed as calls do: reverts, and faults in the words of each server (geth, nethermind and erigon). */
const OF_CALLS: ReadonlySet<number> = new Set([3, -32000, -32015]);
/** What a failed call says is passed on as far as this. */
const MAX_WORDS = 256;

/** What a call gives after a block: a call that reverts is an answer, too. */
export function readCall(
  pool: Upstreams,
  call: { readonly transaction: JsonObject; readonly blockHash: Hex; readonly extra: readonly unknown[] },
  options: ReadOptions = {},
): Promise<UpstreamAnswer<CallAnswer>> {
  const { transaction, blockHash, extra } = call;
  const params = [transaction, { blockHash }, ...extra];
  return pool.ask({
    ...options,
    key: `call${JSON.stringify(params)}`,
    needs: METHOD,
    run: async (upstream, signal) => {
      const answer = await upstream.request(METHOD, params, signal, { ...options, readError });
      if (typeof answer === 'object' && answer !== null && 'code' in answer) return answer as CallAnswer;
      return shaped(upstream, () => ({ output: parseBytes(answer, 'output') }));
    },
  });
}

/** The call's own failure; undefined where the server could not run it. */
function readError(error: UpstreamRpcError): CallAnswer | undefined {
  const isOfCall = OF_CALLS.has(error.code) && classify(error).code === 'overloaded';
  if (!isOfCall) return undefined;
  const data =
    typeof error.data === 'string' && /^0x[0-9a-f]*$/i.test(error.data) ? (error.data as Hex) : undefined;
  return { code: error.code, message: error.message.slice(0, MAX_WORDS), data };
}
