import type { CallRequest } from '../../executor/interface.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import type { Hex } from '../../primitives/hex.ts';
import {
  parseAddress,
  parseArray,
  parseBytes,
  parseHash,
  parseObject,
  parseQuantity,
  toQuantity,
} from '../../primitives/parse.ts';
import { parseBlockOverrides, parseStateOverrides } from './overrides.ts';

type AccessList = NonNullable<CallRequest['accessList']>;
type AuthorizationList = NonNullable<CallRequest['authorizationList']>;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Fields = Readonly<Record<string, unknown>>;

export interface CallRules {
  readonly chainId: bigint;
  readonly gasCap: bigint;
  /** Contract creation by leaving `to` out is the standard's; the contract asks for `to`. */
  readonly requireTo: boolean;
  /** Of a call that says none; the cap when left out. */
  readonly defaultGas?: bigint;
}

/** Reads the transaction object of a call. Fields it does not know are ignored, as geth does. */
export function parseCallRequest(
  transaction: unknown,
  stateOverrides: unknown,
  blockOverrides: unknown,
  rules: CallRules,
): CallRequest {
  const where = 'invalid argument 0';
  const fields = parseObject(transaction, where);
  const request: Mutable<CallRequest> = { gas: parseGas(fields['gas'], where, rules) };
  readInto(request, fields, 'from', where, parseAddress);
  readInto(request, fields, 'to', where, parseAddress);
  for (const name of QUANTITIES) readInto(request, fields, name, where, uint256);
  readInto(request, fields, 'accessList', where, parseAccessList);
  readInto(request, fields, 'authorizationList', where, parseAuthorizations);
  readInto(request, fields, 'blobVersionedHashes', where, parseHashes);
  const data = parseData(fields, where);
  if (data !== undefined) request.data = data;
  if (rules.requireTo && request.to === undefined)
    throw new InvalidParamsError(`${where}: to: missing value`);
  checkFields(request, fields, where, rules.chainId);
  if (isPresent(stateOverrides)) {
    request.stateOverrides = parseStateOverrides(stateOverrides, 'invalid argument 2');
  }
  if (isPresent(blockOverrides)) {
    request.blockOverrides = parseBlockOverrides(blockOverrides, 'invalid argument 3');
  }
  return request;
}

const QUANTITIES = ['value', 'gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas', 'maxFeePerBlobGas'] as const;

const uint256 = (value: unknown, where: string): Hex => parseQuantity(value, 256, where);
const uint64 = (value: unknown, where: string): Hex => parseQuantity(value, 64, where);

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function readInto<K extends keyof CallRequest>(
  request: Mutable<CallRequest>,
  fields: Fields,
  name: K,
  where: string,
  read: (value: unknown, where: string) => NonNullable<CallRequest[K]>,
): void {
  const value = fields[name];
  if (isPresent(value)) request[name] = read(value, `${where}: ${name}`);
}

function parseGas(value: unknown, where: string, { gasCap, defaultGas = gasCap }: CallRules): Hex {
  if (!isPresent(value)) return toQuantity(defaultGas);
  const gas = uint64(value, `${where}: gas`);
  return BigInt(gas) > gasCap ? toQuantity(gasCap) : gas;
}

function parseData(fields: Fields, where: string): Hex | undefined {
  const input = isPresent(fields['input']) ? parseBytes(fields['input'], `${where}: input`) : undefined;
  const data = isPresent(fields['data']) ? parseBytes(fields['data'], `${where}: data`) : undefined;
  if (input !== undefined && data !== undefined && input !== data) {
    throw new InvalidParamsError(`${where}: both "data" and "input" are set and not equal, use "input"`);
  }
  return input ?? data;
}

function checkFields(request: CallRequest, fields: Fields, where: string, chainId: bigint): void {
  const hasFeeMarket = request.maxFeePerGas !== undefined || request.maxPriorityFeePerGas !== undefined;
  if (request.gasPrice !== undefined && hasFeeMarket) {
    throw new InvalidParamsError('both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified');
  }
  // A call has no use for a nonce, but a wrong one is a client's mistake worth telling.
  if (isPresent(fields['nonce'])) uint64(fields['nonce'], `${where}: nonce`);
  if (!isPresent(fields['chainId'])) return;
  const have = BigInt(uint256(fields['chainId'], `${where}: chainId`));
  if (have !== chainId) {
    throw new InvalidParamsError(`chainId does not match node's (have=${have}, want=${chainId})`);
  }
}

function parseHashes(value: unknown, where: string): readonly Hex[] {
  return parseArray(value, where).map((item, i) => parseHash(item, `${where}[${i}]`));
}

function parseAccessList(value: unknown, where: string): AccessList {
  return parseArray(value, where).map((item, i) => {
    const at = `${where}[${i}]`;
    const { address, storageKeys } = parseObject(item, at);
    return {
      address: parseAddress(address, `${at}: address`),
      storageKeys: parseHashes(storageKeys, `${at}: storageKeys`),
    };
  });
}

/** geth keeps one byte of it: what does not recover is an authorization that is skipped, not an error. */
function lowByte(quantity: Hex): Hex {
  return `0x${(BigInt(quantity) & 0xffn).toString(16)}`;
}

function parseAuthorizations(value: unknown, where: string): AuthorizationList {
  return parseArray(value, where).map((item, i) => {
    const at = `${where}[${i}]`;
    const { chainId, address, nonce, yParity, r, s } = parseObject(item, at);
    return {
      chainId: uint256(chainId, `${at}: chainId`),
      address: parseAddress(address, `${at}: address`),
      nonce: uint64(nonce, `${at}: nonce`),
      yParity: lowByte(uint64(yParity, `${at}: yParity`)),
      r: uint256(r, `${at}: r`),
      s: uint256(s, `${at}: s`),
    };
  });
}
