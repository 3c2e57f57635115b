import { Ajv, type ValidateFunction } from 'ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MethodError } from '../../src/methods/errors.ts';
import { checkParamCount, type Method, type MethodContext, type ParamDoc } from '../../src/methods/method.ts';
import { CodedError, InvalidParamsError } from '../../src/primitives/errors.ts';
import { OPTION_SCHEMAS } from '../../src/subscriptions/option-schemas.ts';
import { parseRequest, SUBSCRIPTION_KINDS } from '../../src/subscriptions/request.ts';
import { type Session, SessionRequest } from '../../src/subscriptions/session.ts';
import { schemaValue } from '../support/schemas/arbitrary.ts';
import { allMethods } from '../support/schemas/methods.ts';
import { mutantOf } from '../support/schemas/mutant.ts';
import { FakeChain } from '../support/serve/head.ts';
import { testContext, testServices } from '../support/serve/methods.ts';

/** `TEST_SEED=n npx vitest run --project unit test/methods` repeats a run; `RUNS=n` makes it longer. */
const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const numRuns = Number(process.env['RUNS'] ?? 300);
console.log(`parameters with TEST_SEED=${seed}`);

/** Rules that a schema cannot say, in the words that they are refused with. */
const BEYOND_SCHEMAS = [
  /both "data" and "input" are set and not equal/,
  /both gasPrice and \(maxFeePerGas or maxPriorityFeePerGas\) specified/,
  /chainId does not match/,
  /has both 'state' and 'stateDiff'/,
  /^invalid block range params/,
  /^block range extends beyond current head block/,
  /the cursor is of another address, topics or blockHash/,
  /^empty request/,
  /fromLogIndex needs fromBlock/,
  /^invalid reward percentile: #\d/,
];

/** Whether valid parameters may be refused so, or are not refused at all. */
function isBeyondSchemas(reason: string | undefined): boolean {
  return reason === undefined || BEYOND_SCHEMAS.some((words) => words.test(reason));
}

/** What is refused with another code than -32602, as geth does. */
const OTHER_CODES = [/^invalid reward percentile/];

/** What is taken though its schema does not allow it, as geth does. */
function isTakenAnyhow(name: string, params: readonly unknown[]): boolean {
  // No blocks have no percentiles.
  if (name === 'eth_feeHistory') return /^(?:0[xX]?)?0*$/.test(String(params[0]));
  // Null among the alternatives of a topic is anything: what follows it is not read.
  return /"topics":\[.*\[[^\]]*null,/.test(JSON.stringify(params));
}

interface Decoder {
  readonly name: string;
  readonly params: readonly ParamDoc[];
  decode(params: readonly unknown[], context: MethodContext): unknown;
}

const methods = allMethods();
const subscribe = methods.get('eth_subscribe') as Method;

const decoders: readonly Decoder[] = [
  // Its parameters depend on each other: it follows, kind by kind.
  ...[...methods.values()].filter((method) => method !== subscribe).map(decoderOf),
  ...(SUBSCRIPTION_KINDS.map((kind) => ({
    name: `eth_subscribe, ${kind}`,
    params: [{ ...subscribe.params[1], required: kind === 'stateChanges', schema: OPTION_SCHEMAS[kind] }],
    decode: (params: readonly unknown[], context: MethodContext) => {
      checkParamCount(subscribe, [kind, ...params]);
      return parseRequest([kind, ...params], context, 4);
    },
  })) as readonly Decoder[]),
];

function decoderOf(method: Method): Decoder {
  const { name, params } = method;
  return {
    ...{ name, params },
    decode: (given, context) => {
      checkParamCount(method, given);
      return method.handle(given, context);
    },
  };
}

const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false });

/** Parameters that a method's schemas allow, trailing ones left out at times. */
function valid({ params }: Decoder): fc.Arbitrary<unknown[]> {
  const least = params.findLastIndex(({ required }) => required) + 1;
  return fc
    .tuple(
      fc.tuple(...params.map(({ schema }) => schemaValue(schema))),
      fc.integer({ min: least, max: params.length }),
    )
    .map(([all, count]) => all.slice(0, count));
}

function isValid(
  params: readonly unknown[],
  docs: readonly ParamDoc[],
  checks: readonly ValidateFunction[],
): boolean {
  if (params.length > docs.length) return false;
  return docs.every(({ required }, at) => {
    const given = params[at] ?? undefined;
    return given === undefined ? !required : checks[at]?.(given) === true;
  });
}

/** How a decoder takes parameters: the reason why it refuses them, or undefined. */
async function refusal(
  decoder: Decoder,
  params: readonly unknown[],
  context: MethodContext,
): Promise<string | undefined> {
  try {
    await decoder.decode(params, context);
    return undefined;
  } catch (error) {
    if (error instanceof InvalidParamsError) return error.message;
    if (error instanceof MethodError && error.type.code === 'CALL_FAILED') {
      const { reason } = error.type;
      if (OTHER_CODES.some((words) => words.test(reason))) return reason;
    }
    // Anything else was understood, and could not be done on this chain.
    if (error instanceof CodedError || isMadeUpHeader(error)) return undefined;
    throw error;
  }
}

/** The headers of the chain of this test are none. */
function isMadeUpHeader(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === 'malformed';
}

const chain = new FakeChain().add(0).add(1).add(2).add(3).add(4);
const head = await chain.head();
const services = {
  ...testServices,
  canSend: true,
  passOn: async () => ({ kind: 'error', code: -32_000, message: 'nobody' }) as const,
};
// Only whether it has a subscription is asked.
const session = new SessionRequest({ has: () => true, release: () => {} } as unknown as Session);
const context = { ...testContext(head, { settings: { services } }), session };

describe.each(decoders)('$name: what its schemas allow is taken, all else refused (B10)', (decoder) => {
  const checks = decoder.params.map(({ schema }) => ajv.compile(schema));

  it('takes what is valid', async () => {
    const check = fc.asyncProperty(valid(decoder), async (params) => {
      expect(isValid(params, decoder.params, checks)).toBe(true);
      const reason = await refusal(decoder, params, context);
      expect(isBeyondSchemas(reason), reason).toBe(true);
    });
    await fc.assert(check, { seed, numRuns: decoder.params.length === 0 ? 1 : numRuns });
  });

  it('refuses what is not', async () => {
    const check = fc.asyncProperty(mutantOf(valid(decoder)), async (made) => {
      // Parameters that are no list are the affair of the framing.
      if (!Array.isArray(made)) return;
      const params: unknown = JSON.parse(JSON.stringify(made));
      const isRight = isValid(params as unknown[], decoder.params, checks);
      const reason = await refusal(decoder, params as unknown[], context);
      if (isRight) expect(isBeyondSchemas(reason), reason).toBe(true);
      else if (reason === undefined && !isTakenAnyhow(decoder.name, params as unknown[]))
        throw new Error(`taken: ${JSON.stringify(params)}`);
    });
    await fc.assert(check, { seed, numRuns });
  });
});
