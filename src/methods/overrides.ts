import type { AccountOverride, BlockOverrides } from '../executor/interface.ts';
import { InvalidParamsError } from '../primitives/errors.ts';
import type { Hex } from '../primitives/hex.ts';
import { parseAddress, parseBytes, parseHash, parseObject, parseQuantity } from '../primitives/parse.ts';

type Reader = (value: unknown, where: string) => unknown;

const uint64: Reader = (value, where) => parseQuantity(value, 64, where);
const uint256: Reader = (value, where) => parseQuantity(value, 256, where);

const ACCOUNT_FIELDS: Readonly<Record<keyof AccountOverride, Reader>> = {
  balance: uint256,
  nonce: uint64,
  code: parseBytes,
  state: parseSlots,
  stateDiff: parseSlots,
};

const BLOCK_FIELDS: Readonly<Record<keyof BlockOverrides, Reader>> = {
  number: uint256,
  difficulty: uint256,
  time: uint64,
  gasLimit: uint64,
  feeRecipient: parseAddress,
  prevRandao: parseHash,
  baseFeePerGas: uint256,
  blobBaseFee: uint256,
};

/** Reads state overrides; a field that is not implemented is an error, never ignored. */
export function parseStateOverrides(value: unknown, where: string): Readonly<Record<Hex, AccountOverride>> {
  const accounts: Record<Hex, AccountOverride> = {};
  for (const [key, fields] of Object.entries(parseObject(value, where))) {
    const address = parseAddress(key, where);
    const account = parseFields<AccountOverride>(
      fields,
      ACCOUNT_FIELDS,
      `${where}: ${address}`,
      'state override',
    );
    if (account.state !== undefined && account.stateDiff !== undefined) {
      throw new InvalidParamsError(`${where}: account ${address} has both 'state' and 'stateDiff'`);
    }
    accounts[address] = account;
  }
  return accounts;
}

/** Reads block overrides; a field that is not implemented is an error, never ignored. */
export function parseBlockOverrides(value: unknown, where: string): BlockOverrides {
  return parseFields<BlockOverrides>(value, BLOCK_FIELDS, where, 'block override');
}

function parseFields<T>(
  value: unknown,
  readers: Readonly<Record<keyof T & string, Reader>>,
  where: string,
  kind: string,
): T {
  const result: Record<string, unknown> = {};
  const known = new Map<string, Reader>(Object.entries<Reader>(readers));
  for (const [name, field] of Object.entries(parseObject(value, where))) {
    const reader = known.get(name);
    if (reader === undefined) {
      const quoted = JSON.stringify(name.slice(0, 64));
      throw new InvalidParamsError(`${where}: ${kind} ${quoted} is not supported for this RPC method`);
    }
    if (field !== null) result[name] = reader(field, `${where}: ${name}`);
  }
  return result as T;
}

function parseSlots(value: unknown, where: string): Readonly<Record<Hex, Hex>> {
  const slots: Record<Hex, Hex> = {};
  for (const [key, slot] of Object.entries(parseObject(value, where))) {
    const name = parseHash(key, where);
    slots[name] = parseHash(slot, `${where}: ${name}`);
  }
  return slots;
}
