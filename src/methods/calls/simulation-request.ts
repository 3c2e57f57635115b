import type { SimulatedBlock, SimulatedCall, SimulationRequest } from '../../executor/interface.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import { parseArray, parseBoolean, parseObject, parseQuantity } from '../../primitives/parse.ts';
import { MethodError } from '../errors.ts';
import type { SimulationLimits } from '../method.ts';
import { parseCallRequest } from './call-request.ts';
import { parseSimulatedBlockOverrides, parseSimulatedStateOverrides } from './overrides.ts';

/** What execution-apis has for more than a node allows. */
const LIMIT_EXCEEDED = -38_026;
/** No cap but the number's own: a call gets what its block and the simulation have left. */
const MAX_GAS = 2n ** 64n - 1n;

/** Reads the first parameter of eth_simulateV1. */
export function parseSimulation(
  value: unknown,
  chainId: bigint,
  limits: SimulationLimits,
): Omit<SimulationRequest, 'blockTime'> {
  const where = 'invalid argument 0';
  const { blockStateCalls, ...flags } = parseObject(value, where);
  const flag = (name: string): boolean =>
    isPresent(flags[name]) && parseBoolean(flags[name], `${where}: ${name}`);
  const given = isPresent(blockStateCalls) ? parseArray(blockStateCalls, `${where}: blockStateCalls`) : [];
  if (given.length === 0) throw new InvalidParamsError('empty input');
  if (given.length > limits.maxBlocks) throw tooMany('too many blocks');
  let calls = 0;
  const blocks = given.map((item, i) => {
    const block = parseBlock(item, chainId, `${where}: blockStateCalls[${i}]`);
    calls += block.calls?.length ?? 0;
    if (calls > limits.maxCalls) throw tooMany(`too many calls: ${calls} > ${limits.maxCalls}`);
    return block;
  });
  return {
    blocks,
    traceTransfers: flag('traceTransfers'),
    validation: flag('validation'),
    returnFullTransactions: flag('returnFullTransactions'),
    limits: { blocks: limits.maxBlocks, gas: limits.gas, bytes: limits.maxResponseBytes },
  };
}

function parseBlock(value: unknown, chainId: bigint, where: string): SimulatedBlock {
  const { blockOverrides, stateOverrides, calls } = parseObject(value, where);
  return {
    ...(isPresent(blockOverrides) && {
      blockOverrides: parseSimulatedBlockOverrides(blockOverrides, `${where}: blockOverrides`),
    }),
    ...(isPresent(stateOverrides) && {
      stateOverrides: parseSimulatedStateOverrides(stateOverrides, `${where}: stateOverrides`),
    }),
    ...(isPresent(calls) && {
      calls: parseArray(calls, `${where}: calls`).map((call) => parseCall(call, chainId, where)),
    }),
  };
}

/** A call has a nonce here, and no gas where it gives none. */
function parseCall(value: unknown, chainId: bigint, where: string): SimulatedCall {
  const given = parseObject(value, `${where}: calls`);
  const rules = { chainId, gasCap: MAX_GAS, requireTo: false };
  const { gas, ...call } = parseCallRequest(given, undefined, undefined, rules);
  const { nonce } = given;
  return {
    ...call,
    ...(isPresent(given['gas']) && { gas }),
    ...(isPresent(nonce) && { nonce: parseQuantity(nonce, 64, `${where}: nonce`) }),
  };
}

function tooMany(reason: string): MethodError {
  return new MethodError({ code: 'SIMULATION_REFUSED', rpcCode: LIMIT_EXCEEDED, reason });
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}
