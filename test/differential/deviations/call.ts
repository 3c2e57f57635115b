import { isDeepStrictEqual } from 'node:util';
import type { Answer, Call } from '../../support/servers/rpc-client.ts';
import { type Chain, callContext } from '../context.ts';
import {
  asFields,
  type Fields,
  holds,
  overridesOf,
  paramsOf,
  runsCall,
  withParam,
} from '../request-shape.ts';
import { placesOf } from '../simulations/places.ts';
import { type Deviation, errorOf, refuses, wordsOf } from './deviation.ts';

const contradictions: readonly string[] = ['fee styles', 'chain id', 'override'];

/** Pairs of what geth and revm find first when an instruction fails for two reasons; the effect is the same. */
const haltOrder: readonly (readonly [geth: string, ours: string])[] = [
  ['stack', 'out of gas'],
  ['out of gas', 'precompile'],
  ['out of gas', 'return data'],
  // The same of estimates: geth says of code that cannot be paid for that it ran out of gas while it was stored.
  ['allowance', 'precompile'],
  ['out of gas', 'allowance'],
];

const maxWord = `0x${'f'.repeat(64)}`;
const overrideNames = new Set(['balance', 'nonce', 'code', 'state', 'stateDiff']);
const blockOverrideNames = new Set(
  'number difficulty time gasLimit feeRecipient prevRandao baseFeePerGas blobBaseFee'.split(' '),
);

function hasUnknownOverride(request: Call): boolean {
  const { accounts, block } = overridesOf(request);
  const strange = (fields: Fields | undefined, names: ReadonlySet<string>): boolean =>
    Object.keys(fields ?? {}).some((name) => !names.has(name));
  return (
    strange(asFields(block), blockOverrideNames) ||
    Object.values(asFields(accounts) ?? {}).some((account) => strange(asFields(account), overrideNames))
  );
}

const quantity = /^0x(0|[1-9a-f][0-9a-f]{0,63})$/i;
const uint64 = /^0x(0|[1-9a-f][0-9a-f]{0,15})$/i;
const bytes = /^0x([0-9a-f]{2})*$/i;
const word = /^0x[0-9a-f]{64}$/i;
const isText = (value: unknown, form: RegExp): boolean => typeof value === 'string' && form.test(value);
const accessEntry: Readonly<Record<string, RegExp>> = { address: bytes };
const authorization: Readonly<Record<string, RegExp>> = {
  ...{ chainId: quantity, address: bytes, nonce: uint64, yParity: uint64, r: quantity, s: quantity },
};

/** Whether it is a list with something in it that both servers can read: a broken one is refused at any block. */
function isListOf(list: unknown, shape: Readonly<Record<string, RegExp>>): boolean {
  if (!Array.isArray(list) || list.length === 0) return false;
  return list.every((entry: unknown) => {
    const fields = asFields(entry);
    // An entry of an access list without its keys is broken, too.
    const keys = shape === accessEntry ? fields?.['storageKeys'] : [];
    const isRead = Object.entries(shape).every(([name, form]) => isText(fields?.[name], form));
    return isRead && Array.isArray(keys) && keys.every((key) => isText(key, word));
  });
}

/** Whether any code of the request may write storage, which is priced by the fork. */
function mayWrite(request: Call): boolean {
  const isCreation = asFields(paramsOf(request)[0])?.['to'] == null;
  const isCode = (key: string): boolean =>
    key === 'code' || (isCreation && (key === 'data' || key === 'input'));
  return holds(request, (key, value) => isCode(key) && typeof value === 'string' && value.includes('55'));
}

/** The error that an access list comes with. */
function listedError(answer: Answer): unknown {
  return 'result' in answer ? asFields(answer.result)?.['error'] : undefined;
}

/** The accounts and slots of an access list that was created, in order. */
function listOf(answer: Answer): readonly string[] | undefined {
  const list = 'result' in answer ? asFields(answer.result)?.['accessList'] : undefined;
  if (!Array.isArray(list)) return undefined;
  return list.map((entry) => JSON.stringify([entry.address, entry.storageKeys.toSorted()])).toSorted();
}

/** Deviations of eth_call and of what else runs a call. */
export const callDeviations = (chain: Chain): readonly Deviation[] => [
  {
    id: 'early-list',
    means: (request) => {
      const transaction = asFields(paramsOf(request)[0]);
      if (!runsCall(request.method) || transaction === undefined) return undefined;
      const { isBerlin, isPrague } = callContext(request, chain);
      // A creation with authorizations is refused at any block.
      const creates = transaction['to'] == null;
      // What is given is part of what is created.
      const createsList = request.method === 'eth_createAccessList';
      const early = [
        ...(isListOf(transaction['accessList'], accessEntry) && !isBerlin && !createsList
          ? ['accessList']
          : []),
        ...(isListOf(transaction['authorizationList'], authorization) && !isPrague && !creates
          ? ['authorizationList']
          : []),
      ];
      if (early.length === 0) return undefined;
      const rest = Object.entries(transaction).filter(([name]) => !early.includes(name));
      return { call: withParam(request, 0, Object.fromEntries(rest)) };
    },
    // The list that geth makes costs gas there as well.
    allows: ({ request, geth, ours }) => {
      if (request.method !== 'eth_createAccessList') return false;
      const { isBerlin, isPrague } = callContext(request, chain);
      const [theirs, own] = [listOf(geth), listOf(ours)];
      const isSameList = theirs !== undefined && isDeepStrictEqual(theirs, own);
      const isTooExpensive = errorOf(geth)?.kind === 'intrinsic gas' && own !== undefined;
      const tooMany = 'insufficient gas to process all authorizations';
      return (
        (!isBerlin && (isSameList || isTooExpensive)) || (!isPrague && errorOf(ours)?.message === tooMany)
      );
    },
  },
  {
    id: 'revert',
    contractOnly: true,
    allows: ({ geth, ours }) => {
      const [theirs, own] = [errorOf(geth), errorOf(ours)];
      if (theirs?.code !== 3 || own?.code !== -32000) return false;
      return own.message === 'execution reverted' && own.data === theirs.data;
    },
  },
  {
    id: 'to-required',
    contractOnly: true,
    allows: ({ request, ours }) =>
      request.method === 'eth_call' &&
      refuses(ours) &&
      (asFields(paramsOf(request)[0])?.['to'] ?? null) === null,
  },
  {
    id: 'contradiction',
    allows: ({ geth, ours }) =>
      refuses(ours) &&
      (contradictions.includes(errorOf(geth)?.kind ?? '') ||
        // We look at all of the request before we look for its block.
        (['block not found', 'transaction index'].includes(errorOf(geth)?.kind ?? '') &&
          contradictions.includes(wordsOf(ours)))),
  },
  {
    id: 'data-and-input',
    allows: ({ request, ours }) => {
      const call = asFields(paramsOf(request)[0]);
      return (
        refuses(ours) && call?.['data'] != null && call['input'] != null && call['data'] !== call['input']
      );
    },
  },
  {
    id: 'unknown-override',
    allows: ({ request, ours }) => runsCall(request.method) && refuses(ours) && hasUnknownOverride(request),
  },
  {
    id: 'halt-order',
    allows: ({ geth, ours }) => {
      const [theirs, own] = [errorOf(geth), errorOf(ours)];
      if (theirs?.code !== -32000 || own?.code !== -32000) return false;
      return haltOrder.some(([first, second]) => theirs.kind === first && own.kind === second);
    },
  },
  {
    id: 'balance-overflow',
    allows: ({ request, ours }) =>
      (errorOf(ours)?.kind === 'funds' ||
        listedError(ours) === 'insufficient funds for gas * price + value' ||
        (request.method === 'debug_traceCall' && 'result' in ours && asFields(ours.result) !== undefined)) &&
      holds(request, (key, value) => key === 'balance' && value === maxWord),
  },
  {
    id: 'constantinople',
    allows: ({ request, geth, ours }) =>
      ((runsCall(request.method) && callContext(request, chain).isConstantinople) ||
        placesOf(request, chain).some(({ isConstantinople }) => isConstantinople)) &&
      mayWrite(request) &&
      [geth, ours].every((answer) => 'result' in answer || errorOf(answer)?.code === -32000) &&
      ('result' in ours || errorOf(ours)?.kind === 'out of gas' || errorOf(geth)?.kind === 'out of gas'),
  },
  {
    id: 'access-list-fees',
    allows: ({ request, geth, ours }) =>
      request.method === 'eth_createAccessList' &&
      ['funds', 'fee styles', 'zero price'].includes(errorOf(geth)?.kind ?? '') &&
      ('result' in ours || errorOf(ours)?.code === -32000),
  },
  {
    id: 'geth-crash',
    // A simulation that creates a contract with authorizations crashes it; ours refuses it with the code of what has none of its own.
    allows: ({ geth, ours }) =>
      errorOf(geth)?.kind === 'crash' &&
      (errorOf(ours)?.code !== -32603 || errorOf(ours)?.kind === 'authorization list'),
  },
];
