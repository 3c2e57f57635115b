import type {
  AccountOverride,
  BlockOverrides,
  SimulatedAccountOverride,
  SimulatedBlockOverrides,
} from '../../executor/interface.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import type { Hex } from '../../primitives/hex.ts';
import {
  parseAddress,
  parseArray,
  parseBytes,
  parseHash,
  parseObject,
  parseQuantity,
} from '../../primitives/parse.ts';

type Reader = (value: unknown, where: string) => unknown;

const uint64: Reader = (value, where) => parseQuantity(value, 64, where);
const uint256: Reader = (value, where) => parseQuantity(value, 256, where);

/** Readers of all fields by name, made once: there may be thousands of accounts. */
type Readers = ReadonlyMap<string, Reader>;

function readersOf<T>(readers: Readonly<Record<keyof T & string, Reader>>): Readers {
  return new Map(Object.entries<Reader>(readers));
}

const ACCOUNT_FIELDS = readersOf<AccountOverride>({
  balance: uint256,
  nonce: uint64,
  code: parseBytes,
  state: parseSlots,
  stateDiff: parseSlots,
});

const BLOCK_FIELDS = readersOf<BlockOverrides>({
  number: uint256,
  difficulty: uint256,
  time: uint64,
  gasLimit: uint64,
  feeRecipient: parseAddress,
  prevRandao: parseHash,
  baseFeePerGas: uint256,
  blobBaseFee: uint256,
});

/** Only a simulation moves precompiles, and has blocks of its own. */
const SIMULATED_ACCOUNT_FIELDS: Readers = new Map([
  ...ACCOUNT_FIELDS,
  ['movePrecompileToAddress', parseAddress],
]);
const SIMULATED_BLOCK_FIELDS: Readers = new Map([
  ...BLOCK_FIELDS,
  ['beaconRoot', parseHash],
  ['withdrawals', parseWithdrawals],
]);

/** Reads state overrides; a field that is not implemented is an error, never ignored. */
export function parseStateOverrides(value: unknown, where: string): Readonly<Record<Hex, AccountOverride>> {
  return parseAccounts(value, ACCOUNT_FIELDS, where);
}

/** The same of a simulated block. */
export function parseSimulatedStateOverrides(
  value: unknown,
  where: string,
): Readonly<Record<Hex, SimulatedAccountOverride>> {
  return parseAccounts(value, SIMULATED_ACCOUNT_FIELDS, where);
}

function parseAccounts(
  value: unknown,
  readers: Readers,
  where: string,
): Readonly<Record<Hex, SimulatedAccountOverride>> {
  const given = parseObject(value, where);
  const accounts: Record<Hex, SimulatedAccountOverride> = {};
  for (const key in given) {
    const address = parseAddress(key, where);
    const place = `${where}: ${address}`;
    const account = parseFields<SimulatedAccountOverride>(given[key], readers, place, 'state override');
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

/** The same of a simulated block. */
export function parseSimulatedBlockOverrides(value: unknown, where: string): SimulatedBlockOverrides {
  return parseFields<SimulatedBlockOverrides>(value, SIMULATED_BLOCK_FIELDS, where, 'block override');
}

function parseWithdrawals(value: unknown, where: string): SimulatedBlockOverrides['withdrawals'] {
  return parseArray(value, where).map((item, i) => {
    const at = `${where}[${i}]`;
    const { index, validatorIndex, address, amount } = parseObject(item, at);
    return {
      index: parseQuantity(index, 64, `${at}: index`),
      validatorIndex: parseQuantity(validatorIndex, 64, `${at}: validatorIndex`),
      address: parseAddress(address, `${at}: address`),
      amount: parseQuantity(amount, 64, `${at}: amount`),
    };
  });
}

function parseFields<T>(value: unknown, readers: Readers, where: string, kind: string): T {
  const fields = parseObject(value, where);
  const result: Record<string, unknown> = {};
  for (const name in fields) {
    const reader = readers.get(name);
    if (reader === undefined) {
      const quoted = JSON.stringify(name.slice(0, 64));
      throw new InvalidParamsError(`${where}: ${kind} ${quoted} is not supported for this RPC method`);
    }
    const field = fields[name];
    if (field !== null) result[name] = reader(field, `${where}: ${name}`);
  }
  return result as T;
}

/** Thousands of slots are checked without being copied, if they are as they should be. */
function parseSlots(value: unknown, where: string): Readonly<Record<Hex, Hex>> {
  const given = parseObject(value, where);
  let isNormal = true;
  for (const key in given) {
    const name = parseHash(key, where);
    const slot = parseHash(given[key], `${where}: ${name}`);
    isNormal &&= name === key && slot === given[key];
  }
  if (isNormal) return given as Readonly<Record<Hex, Hex>>;
  const slots: Record<Hex, Hex> = {};
  for (const key in given) slots[parseHash(key, where)] = parseHash(given[key], where);
  return slots;
}
