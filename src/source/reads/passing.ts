import type { PassedAnswer } from '../../chain/pass-on.ts';
import type { ReadOptions, UpstreamAnswer } from '../interface.ts';
import type { Upstreams } from '../pool/upstreams.ts';
import { classify, type UpstreamRpcError } from '../transport/json-rpc.ts';

/** What an error says is passed on as far as this. */
const MAX_WORDS = 512;
/** Errors that are the server's own: another one may know better. */
const OF_SERVERS: ReadonlySet<number> = new Set([-32603, -32002]);

/**
 * Has one upstream answer a request, whatever it is: nobody else is asked unless that one cannot. An error that is about the
 * request is an answer, too.
 */
export function readPassed(
  pool: Upstreams,
  { method, params }: { readonly method: string; readonly params: readonly unknown[] },
  options: ReadOptions = {},
): Promise<UpstreamAnswer<PassedAnswer>> {
  return pool.ask({
    ...options,
    key: `pass ${method}${JSON.stringify(params)}`,
    needs: method,
    hedge: false,
    rounds: 1,
    run: async (upstream, signal) => {
      const answer = await upstream.request(method, params, signal, { ...options, readError });
      return answer instanceof Refusal ? answer.error : { kind: 'result', json: JSON.stringify(answer) };
    },
  });
}

/** An error among answers, which may be anything. */
class Refusal {
  readonly error: Extract<PassedAnswer, { kind: 'error' }>;

  constructor({ code, message, data }: UpstreamRpcError) {
    const text = data === undefined ? undefined : JSON.stringify(data);
    this.error = { kind: 'error', code, message: message.slice(0, MAX_WORDS), data: text };
  }
}

function readError(error: UpstreamRpcError): Refusal | undefined {
  const { code } = classify(error);
  const isOfRequest = (code === 'overloaded' && !OF_SERVERS.has(error.code)) || code === 'refused';
  return isOfRequest ? new Refusal(error) : undefined;
}
