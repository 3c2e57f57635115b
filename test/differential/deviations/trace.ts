import { isDeepStrictEqual } from 'node:util';
import { comparable } from '../compare.ts';
import { type Chain, callContext, forks } from '../context.ts';
import { asFields, type Fields, paramsOf } from '../request-shape.ts';
import { type Deviation, errorOf, refuses } from './deviation.ts';

/** What either calls opcodes that no fork has. */
const NEVER_DEFINED: ReadonlyMap<string, number> = new Map([
  ['SLOTNUM', 0x4b] as const,
  ...['DATALOAD', 'DATALOADN', 'DATASIZE', 'DATACOPY'].map((name, at) => [name, 0xd0 + at] as const),
  ...['RJUMP', 'RJUMPI', 'RJUMPV', 'CALLF', 'RETF', 'JUMPF', 'DUPN', 'SWAPN', 'EXCHANGE'].map(
    (name, at) => [name, 0xe0 + at] as const,
  ),
  ...[['EOFCREATE', 0xec] as const, ['RETURNCONTRACT', 0xee] as const, ['RETURNDATALOAD', 0xf7] as const],
  ...[['EXTCALL', 0xf8] as const, ['EXTDELEGATECALL', 0xf9] as const, ['EXTSTATICCALL', 0xfb] as const],
]);
const ENDS_WELL: readonly unknown[] = ['STOP', 'RETURN', 'REVERT'];

const prefixed = (word: string): string => (word.startsWith('0x') ? word : `0x${word}`);

/** A log of an opcode as both would have it; of one that fails, without what it would have cost, read and given back. */
function sameLog(log: Fields, next: Fields | undefined): Fields {
  const number = NEVER_DEFINED.get(String(log['op']));
  const memory = log['memory'] as readonly string[] | undefined;
  const storage = log['storage'] as Readonly<Record<string, string>> | undefined;
  const endsFrame = next === undefined || Number(next['depth']) < Number(log['depth']);
  const fails = endsFrame && !ENDS_WELL.includes(log['op']);
  return {
    ...log,
    ...(number === undefined ? {} : { op: `opcode 0x${number.toString(16)} not defined` }),
    ...(memory === undefined ? {} : { memory: memory.map(prefixed) }),
    ...(storage === undefined
      ? {}
      : {
          storage: Object.fromEntries(Object.entries(storage).map((pair) => pair.map(prefixed))),
        }),
    // Of two faults either is found first.
    ...(fails
      ? { gasCost: 'all that is left', storage: undefined, error: undefined, refund: undefined }
      : {}),
  };
}

/** A result with each trace of opcodes in it as both would have it; nothing if there is none. */
function sameTraces(result: unknown): unknown {
  if (Array.isArray(result)) {
    const traces = result.map((one) => ({ ...asFields(one), result: sameTraces(asFields(one)?.['result']) }));
    return traces.some((one) => one.result === undefined) ? undefined : traces;
  }
  const trace = asFields(result);
  const logs = trace?.['structLogs'] as readonly Fields[] | undefined;
  return logs && { ...trace, structLogs: logs.map((log, at) => sameLog(log, logs[at + 1])) };
}

function tracerOf(config: unknown): unknown {
  return asFields(config)?.['tracer'];
}

/** Faults of which an opcode or a precompile may have two, and either is found first, as in `halt-order`. */
const INTERCHANGEABLE: readonly unknown[] = [
  ...['stack', 'out of gas', 'precompile', 'return data', 'write protection'],
];

/** A result with faults that are interchangeable under one name, wherever they are told. */
export function sameFaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sameFaults);
  const fields = asFields(value);
  if (fields === undefined) return value;
  return Object.fromEntries(
    Object.entries(fields).map(([key, inner]) => [
      key,
      (key === 'error' || key === 'message') && INTERCHANGEABLE.includes(inner) ? 'halt' : sameFaults(inner),
    ]),
  );
}

/** Deviations of traces. */
export const traceDeviations: readonly Deviation[] = [
  {
    id: 'struct-logs',
    allows: ({ request, geth, ours }) => {
      if (!request.method.startsWith('debug_trace') || 'error' in geth || 'error' in ours) return false;
      const theirs = sameTraces(comparable(geth.result));
      return theirs !== undefined && isDeepStrictEqual(theirs, sameTraces(comparable(ours.result)));
    },
  },
  {
    id: 'frame-faults',
    allows: ({ request, geth, ours }) =>
      request.method.startsWith('debug_trace') &&
      'result' in geth &&
      'result' in ours &&
      isDeepStrictEqual(sameFaults(comparable(geth.result)), sameFaults(comparable(ours.result))),
  },
  {
    id: 'unknown-tracer',
    allows: ({ request, geth, ours }) => {
      const params = paramsOf(request);
      const tracer = params.map(tracerOf).find((given) => given !== undefined);
      if (!request.method.startsWith('debug_trace') || typeof tracer !== 'string') return false;
      const message = errorOf(ours)?.message ?? '';
      if (tracer === '') {
        const isScript = /SyntaxError/.test(errorOf(geth)?.message ?? '');
        return isScript && ('result' in ours || message.startsWith('tracing failed'));
      }
      const isRun = 'result' in geth || errorOf(geth)?.code === -32000;
      return isRun && refuses(ours) && /the tracer/.test(message);
    },
  },
  {
    id: 'trace-timeout',
    allows: ({ request, geth, ours }) =>
      request.method.startsWith('debug_trace') &&
      errorOf(geth)?.kind === 'timeout' &&
      ('result' in ours || errorOf(ours)?.message.startsWith('the trace is too large') === true),
  },
  {
    id: 'tracer-config',
    allows: ({ request, geth, ours }) => {
      if (!request.method.startsWith('debug_trace') || !refuses(ours)) return false;
      const message = errorOf(ours)?.message ?? '';
      // We look at all of the request before we look for its block or transaction.
      const isUnread = errorOf(geth)?.code === -32000 && /tracerConfig|expected a boolean/.test(message);
      return isUnread || /limit: expected a whole number/.test(message);
    },
  },
  {
    id: 'last-nonce',
    allows: ({ request, geth, ours }) => {
      const overrides = Object.entries(asFields(asFields(paramsOf(request)[2])?.['stateOverrides']) ?? {});
      const last = overrides.filter(([, fields]) => asFields(fields)?.['nonce'] === LAST_NONCE);
      const isOfBothSides = [geth, ours].every((answer) => 'result' in answer && hasBothSides(answer.result));
      if (last.length === 0 || !isOfBothSides || 'error' in geth || 'error' in ours) return false;
      const addresses = last.map(([address]) => address.toLowerCase());
      return isDeepStrictEqual(
        withoutAccounts(comparable(geth.result), addresses),
        withoutAccounts(comparable(ours.result), addresses),
      );
    },
  },
];

const LAST_NONCE = '0xffffffffffffffff';

/** Whether it is a prestate trace with `diffMode`. */
const hasBothSides = (result: unknown): boolean =>
  ['pre', 'post'].every((side) => asFields(asFields(result)?.[side]) !== undefined);

/** What it has of other accounts. */
function withoutAccounts(result: unknown, addresses: readonly string[]): unknown {
  const sides = asFields(result) ?? {};
  return ['pre', 'post'].map((side) =>
    Object.entries(asFields(sides[side]) ?? {}).filter(([address]) => !addresses.includes(address)),
  );
}

const isFailedDeposit = (trace: unknown): boolean =>
  asFields(trace)?.['type'] === 'STOP' && asFields(trace)?.['error'] === 'failed deposit transaction';

/** Traces by transaction, or the only one. */
function traceList(result: unknown): readonly unknown[] {
  return Array.isArray(result) ? result.map((one) => asFields(one)?.['result']) : [result];
}

/** op-geth's call tracer has an empty frame of a deposit that could not begin; ours has what was asked for. */
export const failedDeposit: Deviation = {
  id: 'failed-deposit',
  allows: ({ request, geth, ours }) => {
    if (!request.method.startsWith('debug_trace') || 'error' in geth || 'error' in ours) return false;
    const [theirs, own] = [traceList(geth.result), traceList(ours.result)];
    const isSame = (trace: unknown, at: number): boolean =>
      isFailedDeposit(trace)
        ? typeof asFields(own[at])?.['error'] === 'string'
        : isDeepStrictEqual(sameFaults(comparable(trace)), sameFaults(comparable(own[at])));
    return theirs.some(isFailedDeposit) && theirs.length === own.length && theirs.every(isSame);
  },
};

/** The prestate tracer goes by the time alone, even where a fork is not there as the chain is not merged. */
export const unmergedPrestate = (chain: Chain): Deviation => ({
  id: 'unmerged-prestate',
  allows: ({ request, geth, ours }) => {
    if (request.method !== 'debug_traceCall' || tracerOf(paramsOf(request)[2]) !== 'prestateTracer') {
      return false;
    }
    const { isMerged, time } = callContext(request, chain);
    const given = [geth, ours].every((answer) => 'result' in answer && asFields(answer.result) !== undefined);
    return given && !isMerged && time >= forks.cancunTime;
  },
});
