import type { StateView, TraceOptions } from '../../executor/interface.ts';
import { HeadError } from '../../head/errors.ts';
import { andThen } from '../../primitives/awaitable.ts';
import { type BlockSelector, formatSelector, parseBlockSelector } from '../../primitives/block-selector.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import { parseHashArgument, parseObject, toQuantity } from '../../primitives/parse.ts';
import { callFailure } from '../calls/call-failure.ts';
import { blockOverridesParam, stateOverridesParam, transactionParam } from '../calls/call-params.ts';
import { parseCallRequest } from '../calls/call-request.ts';
import { queryCall } from '../calls/query-call.ts';
import { MethodError } from '../errors.ts';
import { passNative, passUnknown, type UpstreamRequest } from '../forwarding.ts';
import type { Method, MethodContext, RawJson, ResultDoc } from '../method.ts';
import { BY_HASH, BY_NUMBER, type NamedBlock } from '../named-block.ts';
import { orNull } from '../param-schemas.ts';
import { requiredBlockParam, transactionHashParam } from '../schemas.ts';
import { parseTraceConfig, traceConfigParam } from './trace-config.ts';

const trace: ResultDoc = { name: 'trace', description: 'As its tracer gives it.', schema: {} };
const ABOUT = 'in the form of geth: executed again from the state before it, within the limits of a call.';

export const debugTraceCall: Method = {
  name: 'debug_traceCall',
  summary: `A trace of a call after a block, ${ABOUT}`,
  dedicatedOnly: true,
  rules: ['B5', 'B6', 'B7', 'B12', 'B17'],
  params: [
    transactionParam([]),
    requiredBlockParam,
    {
      ...traceConfigParam,
      description: `${traceConfigParam.description} \`stateOverrides\` and \`blockOverrides\` as in eth_call.`,
      schema: {
        ...traceConfigParam.schema,
        properties: {
          stateOverrides: orNull(stateOverridesParam.schema),
          blockOverrides: orNull(blockOverridesParam.schema),
        },
      },
    },
  ],
  result: trace,
  handle(params, context) {
    const { chainId, gasCap } = context.settings;
    const where = 'invalid argument 2';
    const config = params[2] === undefined || params[2] === null ? {} : parseObject(params[2], where);
    const { stateOverrides, blockOverrides } = config;
    const rules = { chainId, gasCap, requireTo: false };
    const request = parseCallRequest(params[0], stateOverrides, blockOverrides, rules);
    const selector = parseBlockSelector(params[1], 'invalid argument 1');
    const options = parseTraceConfig(config, where, context.settings);
    const asked = { method: 'debug_traceCall', params, selector, at: 1 };
    return queryCall({ trace: options }, request, asked, context);
  },
};

export const debugTraceTransaction: Method = {
  name: 'debug_traceTransaction',
  summary: `A trace of a confirmed transaction, ${ABOUT}`,
  dedicatedOnly: true,
  rules: ['B12', 'B17'],
  params: [transactionHashParam, traceConfigParam],
  result: trace,
  handle(params, context) {
    const hash = parseHashArgument(params[0], 'invalid argument 0');
    const options = parseTraceConfig(params[1], 'invalid argument 1', context.settings);
    const place = context.snapshot.fromTransaction(hash, {
      // What is pre-confirmed is not traced yet.
      preconfirmed: () => undefined,
      confirmed: (ref, index, reader) => andThen(reader.blockBytes(ref), (block) => ({ ref, block, index })),
    });
    return andThen(place, (found) => {
      if (found === undefined) throw failed('transaction not found');
      return traceBlock(found, options, { method: 'debug_traceTransaction', params }, context);
    });
  },
};

export const debugTraceBlockByNumber = traceBlockOf('debug_traceBlockByNumber', BY_NUMBER);
export const debugTraceBlockByHash = traceBlockOf('debug_traceBlockByHash', BY_HASH);

function traceBlockOf(name: string, named: NamedBlock): Method {
  return {
    name,
    summary: `Traces of all transactions of a confirmed block, ${ABOUT}`,
    dedicatedOnly: true,
    rules: ['B5', 'B12', 'B17'],
    params: [named.param, traceConfigParam],
    result: {
      name: 'traces',
      description: 'One of each transaction, with its hash.',
      schema: { type: 'array', items: { type: 'object', required: ['txHash', 'result'] } },
    },
    handle(params, context) {
      const selector = named.read(params[0]);
      const options = parseTraceConfig(params[1], 'invalid argument 1', context.settings);
      const block = context.snapshot.fromBlock(selector, {
        preconfirmed: () => {
          throw failed('tracing on top of pending is not supported');
        },
        confirmed: (ref, reader) => andThen(reader.blockBytes(ref), (bytes) => ({ ref, block: bytes })),
      });
      return andThen(block, (found) => {
        if (found === undefined) throw notFound(selector, context);
        const asked = { method: 'debug_traceBlockByHash', params: [found.ref.hash, ...params.slice(1)] };
        return traceBlock(found, options, asked, context);
      });
    },
  };
}

interface Traced {
  readonly ref: StateView['ref'];
  readonly block: Uint8Array;
  readonly index?: number;
}

/** Executes a block on the state of its parent; where its rules are not known, or it enters a native contract, an upstream is asked. */
function traceBlock(
  { ref, block, index }: Traced,
  options: TraceOptions,
  asked: UpstreamRequest,
  context: MethodContext,
): Awaitable<RawJson> {
  const { snapshot, settings } = context;
  if (ref.number === 0) throw failed('genesis is not traceable');
  if (snapshot.isUnknown(ref)) return passUnknown(asked, ref.number, context);
  return andThen(snapshot.viewAt(parseBlockSelector(toQuantity(ref.number - 1), 'parent')), (parent) =>
    andThen(parent.trace(block, index, options, context), (result) => {
      if (result.kind === 'answer') return result.json;
      if (result.kind !== 'native') throw callFailure(result, settings);
      return passNative(asked, result.address, parent, context);
    }),
  );
}

const failed = (reason: string): MethodError => new MethodError({ code: 'CALL_FAILED', reason });

/** In the words of the official vectors where those are asked for. */
function notFound(selector: BlockSelector, { settings }: MethodContext): Error {
  const block = formatSelector(selector);
  if (settings.compat) return failed(`block ${selector.kind === 'number' ? '#' : ''}${block} not found`);
  return new HeadError({ code: 'BLOCK_NOT_FOUND', block });
}
