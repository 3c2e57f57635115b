import type { SimulationResult, StateView } from '../../executor/interface.ts';
import { HeadError } from '../../head/errors.ts';
import { andThen } from '../../primitives/awaitable.ts';
import { type BlockSelector, parseBlockSelector } from '../../primitives/block-selector.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import { MethodError } from '../errors.ts';
import { atBlock, passNative, passUnknown, type UpstreamRequest } from '../forwarding.ts';
import type { Method, MethodContext, RawJson } from '../method.ts';
import { orNull } from '../param-schemas.ts';
import { blockParam } from '../schemas.ts';
import { simulatedBlockSchema } from './call-params.ts';
import { parseSimulation } from './simulation-request.ts';

/** Of chains whose blocks are too few to tell. */
const USUAL_BLOCK_MS = 2_000;

export const ethSimulateV1: Method = {
  name: 'eth_simulateV1',
  summary: 'Executes calls one after another, in blocks that nobody built, on the state of a block.',
  rules: ['B5', 'B6', 'B7', 'B12', 'B17'],
  cost: 50,
  params: [
    {
      name: 'payload',
      required: true,
      description:
        '`blockStateCalls`: a list of `{blockOverrides, stateOverrides, calls}`; `validation` (checks nonces and fees as ' +
        'in a real block), `traceTransfers` (transfers of ether as logs), `returnFullTransactions`.',
      schema: {
        type: 'object',
        required: ['blockStateCalls'],
        properties: {
          blockStateCalls: { type: 'array', minItems: 1, items: simulatedBlockSchema },
          traceTransfers: orNull({ type: 'boolean' }),
          validation: orNull({ type: 'boolean' }),
          returnFullTransactions: orNull({ type: 'boolean' }),
        },
      },
    },
    blockParam,
  ],
  result: {
    name: 'blocks',
    description:
      'Each block as `eth_getBlockByHash` has it, those that fill gaps included, with `calls`: `returnData`, `logs`, `gasUsed`, ' +
      '`maxUsedGas`, `status` and, of one that failed, `error`.',
    schema: { type: 'array', items: { type: 'object' } },
  },
  handle(params, context) {
    const { settings } = context;
    const payload = parseSimulation(params[0], settings.chainId, settings.simulation);
    const selector = parseBlockSelector(params[1], 'invalid argument 1');
    return simulate(payload, { method: 'eth_simulateV1', params }, selector, context);
  },
};

function simulate(
  payload: ReturnType<typeof parseSimulation>,
  request: UpstreamRequest,
  selector: BlockSelector,
  context: MethodContext,
): Awaitable<RawJson> {
  const { snapshot } = context;
  return andThen(findView(selector, context), (view) => {
    if (snapshot.isUnknown(view.ref)) {
      return passUnknown(atBlock(request, 1, view), view.ref.number, context);
    }
    return andThen(snapshot.blockTimeMs(), (blockMs = USUAL_BLOCK_MS) => {
      const simulation = { ...payload, blockTime: Math.max(1, Math.round(blockMs / 1_000)) };
      return andThen(view.simulate(simulation, context), (result) =>
        result.kind === 'native'
          ? passNative(atBlock(request, 1, view), result.address, view, context)
          : render(result, context),
      );
    });
  });
}

/** The standard has other words for a block that is not there. */
function findView(selector: BlockSelector, { snapshot, settings }: MethodContext): Awaitable<StateView> {
  const refuse = (error: unknown): never => {
    if (!settings.compat || !(error instanceof HeadError) || error.type.code !== 'BLOCK_NOT_FOUND')
      throw error;
    throw new MethodError({ code: 'SIMULATION_REFUSED', rpcCode: -32_000, reason: 'header not found' });
  };
  try {
    const found = snapshot.viewAt(selector);
    return found instanceof Promise ? found.catch(refuse) : found;
  } catch (error) {
    return refuse(error);
  }
}

function render(
  result: Exclude<SimulationResult, { readonly kind: 'native' }>,
  { settings }: MethodContext,
): RawJson {
  switch (result.kind) {
    case 'done':
      return result.json;
    case 'refused':
      throw new MethodError({
        code: 'SIMULATION_REFUSED',
        rpcCode: result.code,
        reason: result.message,
      });
    case 'timeout': {
      const milliseconds = settings.simulation.timeLimitMs;
      throw new MethodError({ code: 'TIME_LIMIT', what: 'simulation', milliseconds });
    }
    case 'cancelled':
      throw new MethodError({ code: 'CANCELLED' });
    case 'overloaded':
      throw new MethodError({ code: 'OVERLOADED' });
  }
}
