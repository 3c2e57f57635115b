import { InvalidParamsError } from '../../../primitives/errors.ts';
import type { Hex } from '../../../primitives/hex.ts';
import {
  parseAddress,
  parseArray,
  parseBytes,
  parseFixedBytes,
  parseHash,
  parseObject,
  parseUint64,
} from '../../../primitives/parse.ts';
import { BLOOM_BYTES, readKnownHash, readUint } from '../decode.ts';
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
    gasLimit: readUint(block['gasLimit'], 64, 'gasLimit'),
    timestamp: readUint(block['timestamp'], 64, 'timestamp'),
    extraData: parseBytes(block['extraData'], 'extraData'),
    baseFeePerGas: readUint(block['baseFeePerGas'], 256, 'baseFeePerGas'),
  };
}

/** What nodes do not know of a pending block they leave out, or write as zeros or `null`. */
function readResults(block: Readonly<Record<string, unknown>>): WholeBlock['results'] {
  const stateRoot = readKnownHash(block['stateRoot'], 'stateRoot');
  const hash = readKnownHash(block['hash'], 'hash');
  // A hash only vouches for a header that has its state root; a state root is worth nothing that no hash binds.
  const isSealed = stateRoot !== undefined && hash !== undefined;
  const receiptsRoot = readKnownHash(block['receiptsRoot'], 'receiptsRoot');
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
    gasUsed: readUint(block['gasUsed'], 64, 'gasUsed'),
    blobGasUsed: blobGas === undefined ? undefined : readUint(block['blobGasUsed'], 64, 'blobGasUsed'),
    blockHash: isSealed ? hash : undefined,
    withdrawalsRoot: isSealed ? readKnownHash(block['withdrawalsRoot'], 'withdrawalsRoot') : undefined,
  };
}
