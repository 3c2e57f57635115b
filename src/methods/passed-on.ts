import { andThen } from '../primitives/awaitable.ts';
import { ZERO_HASH } from '../primitives/hex.ts';
import { MethodError } from './errors.ts';
import type { Method, MethodContext, RawJson } from './method.ts';

/** A method that an upstream answers as it likes (`--forward`). */
export function passedOn(name: string): Method {
  return {
    name,
    summary: 'Passed on to an upstream, and answered as it answers.',
    rules: ['B12'],
    cost: 5,
    params: [],
    takesAnything: true,
    result: { name: 'result', description: 'Whatever the upstream says.', schema: {} },
    handle: (params, context) => ask(name, params, context),
  };
}

/**
 * Methods that look for a hash: with `--forward` an upstream is asked for what is not held here. A transaction is taken from it where it is older than
 * all that is held, as what is newer would be seen; a block up to the head.
 */
const LOOKUPS: Readonly<Record<string, 'transaction' | 'block'>> = {
  eth_getTransactionByHash: 'transaction',
  eth_getTransactionReceipt: 'transaction',
  eth_getBlockByHash: 'block',
  eth_getHeaderByHash: 'block',
  eth_getBlockReceipts: 'block',
  eth_getTransactionByBlockHashAndIndex: 'block',
  eth_getBlockTransactionCountByHash: 'block',
};

/** Whether a method that is served here may have others asked for what is not held. */
export function looksForHash(name: string): boolean {
  return name in LOOKUPS;
}

/** The same method, which asks an upstream where nothing is held. */
export function elseUpstream(method: Method): Method {
  const { name } = method;
  return {
    ...method,
    summary: `${method.summary} What is not held is asked of an upstream.`,
    handle: (params, context) =>
      andThen(method.handle(params, context), (own) =>
        own === 'null' && namesHash(params[0]) ? older(name, params, context) : own,
      ),
  };
}

/** What an upstream says of a hash, but for what would be held here if it were of this chain as it is now. */
async function older(name: string, params: readonly unknown[], context: MethodContext): Promise<RawJson> {
  const [json, { transactions }] = await Promise.all([ask(name, params, context), context.snapshot.held()]);
  const found: unknown = JSON.parse(json);
  const { blockNumber, number = blockNumber } = (Array.isArray(found) ? (found[0] ?? {}) : (found ?? {})) as {
    readonly blockNumber?: unknown;
    readonly number?: unknown;
  };
  if (LOOKUPS[name] === 'transaction') return Number(number ?? Number.NaN) < transactions ? json : 'null';
  return Number(number ?? 0) <= context.snapshot.head.number ? json : 'null';
}

/** Zero names nothing. */
function namesHash(param: unknown): boolean {
  const isObject = typeof param === 'object' && param !== null && 'blockHash' in param;
  const text = isObject ? param.blockHash : param;
  return typeof text === 'string' && text.length === ZERO_HASH.length && text !== ZERO_HASH;
}

async function ask(method: string, params: readonly unknown[], context: MethodContext): Promise<string> {
  context.namesUpstream();
  const answer = await context.settings.services.passOn({ kind: 'request', method, params }, context);
  if (answer.kind === 'result') return answer.json;
  throw new MethodError({ ...answer, code: 'UPSTREAM_ERROR', number: answer.code });
}
