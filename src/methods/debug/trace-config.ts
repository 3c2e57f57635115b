import type { TraceOptions } from '../../executor/interface.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import { parseBoolean, parseObject } from '../../primitives/parse.ts';
import { MethodError } from '../errors.ts';
import type { JsonSchema, MethodSettings, ParamDoc } from '../method.ts';
import { optionalFields, orNull } from '../param-schemas.ts';

type Fields = Readonly<Record<string, unknown>>;

const LOGGER = ['enableMemory', 'disableStack', 'disableStorage', 'enableReturnData'];
const CALL = ['onlyTopCall', 'withLog'];
const PRESTATE = ['diffMode', 'disableCode', 'disableStorage', 'includeEmpty'];

export const traceConfigParam: ParamDoc = {
  name: 'config',
  required: false,
  description:
    '`tracer`: `callTracer` (`withLog`, `onlyTopCall`), `prestateTracer` (`diffMode`, `disableCode`, `disableStorage`, `includeEmpty`), ' +
    '`4byteTracer` or `noopTracer`, with its `tracerConfig`; without one each opcode is logged (`enableMemory`, `disableStack`, ' +
    '`disableStorage`, `enableReturnData`, `limit`). `timeout` and `reexec` have no effect.',
  schema: { type: 'object', anyOf: tracerSchemas() },
};

/** Reads what a trace is asked to be. Fields that it does not know are ignored, as geth does. */
export function parseTraceConfig(value: unknown, where: string, { logs }: MethodSettings): TraceOptions {
  const fields: Fields = isPresent(value) ? parseObject(value, where) : {};
  return { tracer: tracerOf(fields, where), maxBytes: logs.maxResponseBytes };
}

function tracerOf(fields: Fields, where: string): TraceOptions['tracer'] {
  const { tracer, tracerConfig, limit } = fields;
  const config: Fields = isPresent(tracerConfig) ? parseObject(tracerConfig, `${where}: tracerConfig`) : {};
  switch (tracer) {
    case undefined:
    case null:
    case '': {
      if (isPresent(limit) && !(Number.isSafeInteger(limit) && Number(limit) >= 0))
        throw new InvalidParamsError(`${where}: limit: expected a whole number`);
      return {
        structLogger: { ...flags(fields, LOGGER, where), ...(isPresent(limit) && { limit: Number(limit) }) },
      };
    }
    case 'callTracer':
      return { callTracer: flags(config, CALL, where) };
    case 'prestateTracer': {
      const options = flags(config, PRESTATE, where);
      if (options['diffMode'] === true && options['includeEmpty'] === true)
        throw new MethodError({ code: 'CALL_FAILED', reason: 'cannot use diffMode with includeEmpty' });
      return { prestateTracer: options };
    }
    case '4byteTracer':
    case 'noopTracer':
      return tracer;
    default:
      throw new InvalidParamsError(`${where}: the tracer ${JSON.stringify(tracer)} is not supported`);
  }
}

function flags(fields: Fields, names: readonly string[], where: string): Readonly<Record<string, boolean>> {
  const given = names.filter((name) => isPresent(fields[name]));
  return Object.fromEntries(given.map((name) => [name, parseBoolean(fields[name], `${where}: ${name}`)]));
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** What each tracer can be asked, and what is asked without one. */
function tracerSchemas(): readonly JsonSchema[] {
  const switches = (names: readonly string[]): Readonly<Record<string, JsonSchema>> =>
    optionalFields(Object.fromEntries(names.map((name) => [name, { type: 'boolean' }])));
  const traced = (tracer: JsonSchema, names: readonly string[]): Readonly<Record<string, JsonSchema>> => ({
    tracer,
    tracerConfig: orNull({ type: 'object', properties: switches(names) }),
  });
  const limit = orNull({ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
  return [
    { properties: { ...traced({ enum: [null, ''] }, []), ...switches(LOGGER), limit } },
    { required: ['tracer'], properties: traced({ const: 'callTracer' }, CALL) },
    { required: ['tracer'], properties: traced({ const: 'prestateTracer' }, PRESTATE) },
    { required: ['tracer'], properties: traced({ enum: ['4byteTracer', 'noopTracer'] }, []) },
  ];
}
