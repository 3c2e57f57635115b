import { InvalidParamsError } from '../../../primitives/errors.ts';
import type { Hex } from '../../../primitives/hex.ts';
import {
  parseAddress,
  parseArray,
  parseBytes,
  parseFixedBytes,
  parseHash,
  parseObject,
  parseQuantity,
  parseUint64,
} from '../../../primitives/parse.ts';
import type { FlashblockBase, FlashblockDiff } from '../flashblock.ts';

/** A transaction as JSON-RPC shows it. */
export type TransactionJson = Readonly<Record<string, unknown>>;

/** A block that is being built, from its start, as `eth_getBlockByNumber` shows it with whole transactions. */
export interface WholeBlock {
  readonly number: number;
  readonly base: FlashblockBase;
  readonly results: Omit<FlashblockDiff, 'transactions'>;
  readonly transactions: readonly TransactionJson[];
  /** Of each transaction, as its JSON has it. */
  readonly hashes: readonly Hex[];
}

const NOTHING: Hex = `0x${'0'.repeat(64)}`;
const BLOOM_BYTES = 256;
/** No block has room for more: each uses 21,000 gas or more, and deposits are few. */
const MAX_TRANSACTIONS = 50_000;

/** Reads a block's JSON; throws `InvalidParamsError` with the name of what is wrong. */
export function readWholeBlock(value: unknown): WholeBlock {
  const block = parseObject(value, 'block');
  const number = Number(parseUint64(block['number'], 'number'));
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidParamsError('number: out of bounds');
  if (parseArray(block['withdrawals'] ?? [], 'withdrawals').length > 0) {
    throw new InvalidParamsError('withdrawals: an OP block has none');
  }
  const transactions = parseArray(block['transactions'], 'transactions').map((transaction, at) =>
    parseObject(transaction, `transactions[${at}]`),
  );
  if (transactions.length > MAX_TRANSACTIONS) throw new InvalidParamsError('transactions: too many');
  const hashes = transactions.map(({ hash }, at) => parseHash(hash, `transactions[${at}].hash`));
  return { number, base: readBase(block), results: readResults(block), transactions, hashes };
}

function readBase(block: Readonly<Record<string, unknown>>): FlashblockBase {
  return {
    parentHash: parseHash(block['parentHash'], 'parentHash'),
    parentBeaconBlockRoot: parseHash(block['parentBeaconBlockRoot'], 'parentBeaconBlockRoot'),
    // Some nodes hide it in a pending block. Contracts read it: nothing can be executed without.
    feeRecipient: parseAddress(block['miner'], 'miner'),
    prevRandao: parseHash(block['mixHash'], 'mixHash'),
    gasLimit: quantity(block, 'gasLimit', 64),
    timestamp: quantity(block, 'timestamp', 64),
    extraData: parseBytes(block['extraData'], 'extraData'),
    baseFeePerGas: quantity(block, 'baseFeePerGas', 256),
  };
}

/** What nodes do not know of a pending block they leave out, or write as zeros or `null`. */
function readResults(block: Readonly<Record<string, unknown>>): WholeBlock['results'] {
  const stateRoot = knownHash(block, 'stateRoot');
  const hash = knownHash(block, 'hash');
  // A hash only vouches for a header that has its state root; a state root is worth nothing that no hash binds.
  const isSealed = stateRoot !== undefined && hash !== undefined;
  const receiptsRoot = knownHash(block, 'receiptsRoot');
  const bloom = block['logsBloom'] ?? undefined;
  const blobGas = block['blobGasUsed'] ?? undefined;
  return {
    stateRoot: isSealed ? stateRoot : undefined,
    receiptsRoot,
    // Who knows no receipts knows no bloom, and writes zeros, which are a bloom too.
    logsBloom:
      bloom === undefined || receiptsRoot === undefined
        ? undefined
        : parseFixedBytes(bloom, BLOOM_BYTES, 'logsBloom'),
    gasUsed: quantity(block, 'gasUsed', 64),
    blobGasUsed: blobGas === undefined ? undefined : quantity(block, 'blobGasUsed', 64),
    blockHash: isSealed ? hash : undefined,
    withdrawalsRoot: isSealed ? knownHash(block, 'withdrawalsRoot') : undefined,
  };
}

function knownHash(block: Readonly<Record<string, unknown>>, field: string): Hex | undefined {
  const value = block[field] ?? undefined;
  const hash = value === undefined ? undefined : parseHash(value, field);
  return hash === NOTHING ? undefined : hash;
}

function quantity(block: Readonly<Record<string, unknown>>, field: string, bits: 64 | 256): bigint {
  const value = block[field];
  if (value === '') throw new InvalidParamsError(`${field}: empty hex string`);
  return BigInt(parseQuantity(value, bits, field));
}
