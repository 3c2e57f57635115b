import type { StateView, Traced, TraceOptions } from '../../executor/interface.ts';
import type { ChainReader } from '../../head/chain-reader.ts';
import { HeadError } from '../../head/errors.ts';
import type { PreconfirmedBlock } from '../../head/preconfirmed.ts';
import { andThen } from '../../primitives/awaitable.ts';
import { type BlockSelector, formatSelector, parseBlockSelector } from '../../primitives/block-selector.ts';
import { type Awaitable, fromHex } from '../../primitives/hex.ts';
import { parseHashArgument, parseObject, parseQuantity, toQuantity } from '../../primitives/parse.ts';
import { callFailure } from '../calls/call-failure.ts';
import { blockOverridesParam, stateOverridesParam, transactionParam } from '../calls/call-params.ts';
import { parseCallRequest } from '../calls/call-request.ts';
import { queryCall } from '../calls/query-call.ts';
import { MethodError } from '../errors.ts';
import { passNative, passUnknown, type UpstreamRequest } from '../forwarding.ts';
import type { Method, MethodContext, RawJson, ResultDoc } from '../method.ts';
import { BY_HASH, BY_NUMBER, type NamedBlock } from '../named-block.ts';
import { anyUint64, orNull } from '../param-schemas.ts';
import { requiredBlockParam, transactionHashParam } from '../schemas.ts';
import { parseTraceConfig, traceConfigParam } from './trace-config.ts';

const trace: ResultDoc = { name: 'trace', description: 'As its tracer gives it.', schema: {} };
const ABOUT = 'in the form of geth: executed again from the state before it, within the limits of a call.';

export const debugTraceCall: Method = {
  name: 'debug_traceCall',
  summary: `A trace of a call after a block, ${ABOUT}`,
  dedicatedOnly: true,
  rules: ['B5', 'B6', 'B7', 'B12', 'B17'],
  cost: 50,
  params: [
    transactionParam([]),
    requiredBlockParam,
    {
      ...traceConfigParam,
      description:
        `${traceConfigParam.description} \`stateOverrides\` and \`blockOverrides\` as in eth_call, but that a \`baseFeePerGas\` ` +
        'sets the price, and that in the block after the one that is named the hash of that one is known. With `txIndex` the call ' +
        'runs after so many transactions of the block, and not after all of them.',
      schema: {
        ...traceConfigParam.schema,
        properties: {
          stateOverrides: orNull(stateOverridesParam.schema),
          blockOverrides: orNull(blockOverridesParam.schema),
          txIndex: orNull(anyUint64),
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
    const { txIndex } = config;
    if (txIndex === undefined || txIndex === null) {
      const asked = { method: 'debug_traceCall', params, selector, at: 1 };
      return queryCall({ trace: options }, request, asked, context);
    }
    const after = Number(parseQuantity(txIndex, 64, `${where}: txIndex`));
    return andThen(blockAt(selector, context), (found) => {
      if (found.ref.number === 0) throw failed('no transaction in genesis');
      if (after > MAX_INDEX) throw failed(`transaction index ${after} out of range`);
      const asked = { method: 'debug_traceCall', params: params.with(1, { blockHash: found.ref.hash }) };
      return traceBlock(found, { call: { after, request }, asked }, options, context);
    });
  },
};

export const debugTraceTransaction: Method = {
  name: 'debug_traceTransaction',
  summary: `A trace of a transaction, pre-confirmed or confirmed, ${ABOUT}`,
  dedicatedOnly: true,
  rules: ['B6', 'B12', 'B17'],
  cost: 50,
  params: [transactionHashParam, traceConfigParam],
  result: trace,
  handle(params, context) {
    const hash = parseHashArgument(params[0], 'invalid argument 0');
    const options = parseTraceConfig(params[1], 'invalid argument 1', context.settings);
    const { preconfirmed, confirmed } = formsIn(context);
    const place = context.snapshot.fromTransaction<Found & { readonly transaction: number }>(hash, {
      preconfirmed: (block, transaction, reader) => ({ ...preconfirmed(block, reader), transaction }),
      confirmed: (ref, transaction, reader) =>
        andThen(confirmed(ref, reader), (block) => ({ ...block, transaction })),
    });
    return andThen(place, (found) => {
      if (found === undefined) throw failed('transaction not found');
      const asked = { method: 'debug_traceTransaction', params };
      return traceBlock(found, { transaction: found.transaction, asked }, options, context);
    });
  },
};

export const debugTraceBlockByNumber = traceBlockOf('debug_traceBlockByNumber', BY_NUMBER);
export const debugTraceBlockByHash = traceBlockOf('debug_traceBlockByHash', BY_HASH);

function traceBlockOf(name: string, named: NamedBlock): Method {
  return {
    name,
    summary: `Traces of all transactions of a block, ${ABOUT}`,
    dedicatedOnly: true,
    rules: ['B5', 'B6', 'B12', 'B17'],
    cost: 200,
    params: [named.param, traceConfigParam],
    result: {
      name: 'traces',
      description: 'One of each transaction, with its hash.',
      schema: { type: 'array', items: { type: 'object', required: ['txHash', 'result'] } },
    },
    handle(params, context) {
      const selector = named.read(params[0]);
      const options = parseTraceConfig(params[1], 'invalid argument 1', context.settings);
      return andThen(blockAt(selector, context), (found) => {
        if (found.ref.number === 0) throw failed('genesis is not traceable');
        const asked = { method: 'debug_traceBlockByHash', params: [found.ref.hash, ...params.slice(1)] };
        return traceBlock(found, { asked }, options, context);
      });
    },
  };
}

/** No block has more transactions. */
const MAX_INDEX = 2 ** 32 - 1;

/** A block that can be executed again. */
interface Found {
  readonly ref: StateView['ref'];
  readonly block: Uint8Array;
  /** Of a pre-confirmed block: the newest state, and how many blocks the block's parent is before it. */
  readonly from?: { readonly view: StateView; readonly ahead: number };
}

function formsIn({ snapshot }: MethodContext): {
  preconfirmed(block: PreconfirmedBlock, reader: ChainReader): Found;
  confirmed(ref: StateView['ref'], reader: ChainReader): Awaitable<Found>;
} {
  return {
    preconfirmed: (block, { json }) => {
      const { pending } = snapshot;
      if (pending === undefined) throw new HeadError({ code: 'REORGANISED' });
      return {
        ref: { number: block.number, hash: block.hash },
        block: fromHex(json.rawPreconfirmed(block)),
        from: { view: pending.view, ahead: pending.newest.number - block.number + 1 },
      };
    },
    confirmed: (ref, reader) => andThen(reader.blockBytes(ref), (block) => ({ ref, block })),
  };
}

function blockAt(selector: BlockSelector, context: MethodContext): Awaitable<Found> {
  return andThen(context.snapshot.fromBlock<Found>(selector, formsIn(context)), (found) => {
    if (found === undefined) throw notFound(selector, context);
    return found;
  });
}

/** Executes a block on the state of its parent; where its rules are not known, or it enters a native contract, an upstream is asked. */
function traceBlock(
  { ref, block, from }: Found,
  { asked, ...traced }: Traced & { readonly asked: UpstreamRequest },
  options: TraceOptions,
  context: MethodContext,
): Awaitable<RawJson> {
  const { snapshot, settings } = context;
  if (snapshot.isUnknown(ref)) {
    if (from !== undefined) throw new MethodError({ code: 'UNKNOWN_RULES', block: ref.number });
    return passUnknown(asked, ref.number, context);
  }
  const parent = from?.view ?? snapshot.viewAt(parseBlockSelector(toQuantity(ref.number - 1), 'parent'));
  const ahead = from === undefined ? {} : { ahead: from.ahead };
  return andThen(parent, (view) =>
    andThen(view.trace(block, { ...traced, ...ahead }, options, context), (result) => {
      if (result.kind === 'answer') return result.json;
      if (result.kind !== 'native') throw callFailure(result, settings);
      return passNative(asked, result.address, view, context);
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
