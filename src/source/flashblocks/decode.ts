import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { CodedError, InvalidParamsError } from '../../primitives/errors.ts';
import { type Awaitable, fromHex, type Hex, ZERO_HASH } from '../../primitives/hex.ts';
import { exceeds } from '../../primitives/json-text.ts';
import {
  parseAddress,
  parseArray,
  parseBytes,
  parseFixedBytes,
  parseHash,
  parseObject,
  parseQuantity,
  parseUint64,
} from '../../primitives/parse.ts';
import type { Flashblock, FlashblockBase, FlashblockDiff } from './flashblock.ts';

export interface DecodeLimits {
  /** Of one message as it comes. */
  readonly maxMessageBytes: number;
  /** Of its JSON text. */
  readonly maxTextBytes: number;
}

/** One message as it came. */
export interface WireMessage {
  readonly data: Uint8Array;
  readonly isBinary: boolean;
}

export type DecodeErrorCode = 'tooLarge' | 'notBrotli' | 'notJson' | 'malformed';

/** A message that is not a flashblock. Its text names fields, never what the message held. */
export class DecodeError extends CodedError<{ readonly code: DecodeErrorCode; readonly reason: string }> {
  constructor(code: DecodeErrorCode, reason: string) {
    super({ code, reason }, reason);
  }
}

export type Decoded =
  | { readonly ok: true; readonly flashblock: Flashblock }
  | { readonly ok: false; readonly error: DecodeError };

/** A builder makes ten or so a block; what claims more is not one. */
const MAX_INDEX = 4_095;
export const BLOOM_BYTES = 256;
const OPENING_BRACE = 0x7b;
/** Room for the receipts that older builders add as metadata. */
const JSON_LIMITS = { depth: 64, elements: 2 ** 18 };
/** What is inflated between two looks at the limit: most messages come out in one piece. */
const INFLATED_CHUNK = 2 ** 17;

const inflateBrotli = promisify(brotliDecompress);

/** Reads one WebSocket message: JSON as text or bytes, or brotli of it, which zlib's threads inflate. */
export function decodeMessage({ data, isBinary }: WireMessage, limits: DecodeLimits): Awaitable<Decoded> {
  if (data.length > limits.maxMessageBytes) {
    return refused(new DecodeError('tooLarge', `more than ${limits.maxMessageBytes} bytes`));
  }
  // Proxies pass JSON on in binary frames too; a brotli stream that begins with a brace is an empty one.
  if (!isBinary || data[0] === OPENING_BRACE) return decodeFlashblock(data, limits);
  return inflate(data, limits.maxTextBytes).then((text) => decodeFlashblock(text, limits), refused);
}

/** Reads a flashblock from its JSON. Never throws: all of it is somebody else's input. */
export function decodeFlashblock(json: string | Uint8Array, { maxTextBytes }: DecodeLimits): Decoded {
  try {
    if (json.length > maxTextBytes) {
      throw new DecodeError('tooLarge', `more than ${maxTextBytes} bytes of JSON`);
    }
    const text = typeof json === 'string' ? json : utf8(json);
    return { ok: true, flashblock: readFlashblock(parseJson(text), text) };
  } catch (error) {
    return refused(error);
  }
}

function refused(error: unknown): Decoded {
  if (error instanceof DecodeError) return { ok: false, error };
  const reason = error instanceof InvalidParamsError ? error.type.reason : 'unreadable';
  return { ok: false, error: new DecodeError('malformed', reason) };
}

async function inflate(bytes: Uint8Array, maxOutputLength: number): Promise<Uint8Array> {
  try {
    return await inflateBrotli(bytes, { maxOutputLength, chunkSize: INFLATED_CHUNK });
  } catch (error) {
    const bomb = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    throw bomb
      ? new DecodeError('tooLarge', `more than ${maxOutputLength} bytes of JSON`)
      : new DecodeError('notBrotli', 'a binary message that is neither JSON nor brotli');
  }
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new DecodeError('notJson', 'not UTF-8');
  }
}

function parseJson(text: string): unknown {
  if (exceeds(text, JSON_LIMITS) !== undefined)
    throw new DecodeError('tooLarge', 'JSON that nests too deep, or holds too much');
  try {
    return JSON.parse(text);
  } catch {
    throw new DecodeError('notJson', 'not JSON');
  }
}

function readFlashblock(value: unknown, text: string): Flashblock {
  const message = parseObject(value, 'message');
  const index = readIndex(message['index']);
  const payloadId = parseFixedBytes(message['payload_id'], 8, 'payload_id');
  const given = message['base'] ?? undefined;
  if ((given !== undefined) !== (index === 0)) throw new InvalidParamsError('base: not at index 0 only');
  const base = given === undefined ? undefined : parseObject(given, 'base');
  const metadata = parseObject(message['metadata'] ?? {}, 'metadata');
  const blockNumber = readNumber(metadata['block_number'] ?? base?.['block_number']);
  if (base !== undefined && readNumber(base['block_number']) !== blockNumber) {
    throw new InvalidParamsError('block_number: base and metadata differ');
  }
  const diff = parseObject(message['diff'], 'diff');
  const content = {
    ...{ payloadId, index, blockNumber },
    base: base === undefined ? undefined : readBase(base),
    diff: readDiff(diff),
  };
  return {
    ...content,
    digest: digestOf(content, readKnownHash(diff['block_hash'], 'diff.block_hash')),
    text,
  };
}

function readIndex(value: unknown): number {
  const fits = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_INDEX;
  if (!fits) throw new InvalidParamsError('index: out of bounds');
  // Minus zero is an integer too.
  return Math.abs(value);
}

/** A plain integer, or hex as everywhere else. */
function readNumber(value: unknown): number {
  const number = typeof value === 'number' ? value : Number(parseUint64(value, 'block_number'));
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidParamsError('block_number: out of bounds');
  return number;
}

/** A quantity; throws `InvalidParamsError`. */
export function readUint(value: unknown, bits: 64 | 256, where: string): bigint {
  if (value === '') throw new InvalidParamsError(`${where}: empty hex string`);
  return BigInt(parseQuantity(value, bits, where));
}

function readBase(base: Readonly<Record<string, unknown>>): FlashblockBase {
  return {
    parentHash: parseHash(base['parent_hash'], 'base.parent_hash'),
    parentBeaconBlockRoot: parseHash(base['parent_beacon_block_root'], 'base.parent_beacon_block_root'),
    feeRecipient: parseAddress(base['fee_recipient'], 'base.fee_recipient'),
    prevRandao: parseHash(base['prev_randao'], 'base.prev_randao'),
    gasLimit: readUint(base['gas_limit'], 64, 'base.gas_limit'),
    timestamp: readUint(base['timestamp'], 64, 'base.timestamp'),
    extraData: parseBytes(base['extra_data'], 'base.extra_data'),
    baseFeePerGas: readUint(base['base_fee_per_gas'], 256, 'base.base_fee_per_gas'),
  };
}

function readDiff(diff: Readonly<Record<string, unknown>>): FlashblockDiff {
  if (parseArray(diff['withdrawals'] ?? [], 'diff.withdrawals').length > 0) {
    throw new InvalidParamsError('diff.withdrawals: an OP block has none');
  }
  if ((diff['post_exec_tx'] ?? undefined) !== undefined) {
    throw new InvalidParamsError(
      'diff.post_exec_tx: a transaction of the Lagoon fork, whose rules this version does not have',
    );
  }
  const blobGas = diff['blob_gas_used'] ?? undefined;
  const stateRoot = readKnownHash(diff['state_root'], 'diff.state_root');
  const blockHash = readKnownHash(diff['block_hash'], 'diff.block_hash');
  return {
    stateRoot,
    receiptsRoot: parseHash(diff['receipts_root'], 'diff.receipts_root'),
    logsBloom: parseFixedBytes(diff['logs_bloom'], BLOOM_BYTES, 'diff.logs_bloom'),
    gasUsed: readUint(diff['gas_used'], 64, 'diff.gas_used'),
    blobGasUsed: blobGas === undefined ? undefined : readUint(blobGas, 64, 'diff.blob_gas_used'),
    // Without the root, it is the hash of a header that will never be sealed.
    blockHash: stateRoot === undefined ? undefined : blockHash,
    withdrawalsRoot: readKnownHash(diff['withdrawals_root'], 'diff.withdrawals_root'),
    transactions: parseArray(diff['transactions'], 'diff.transactions').map(readTransaction),
  };
}

/** Builders that do not compute a hash leave it out, or send zeros. */
export function readKnownHash(value: unknown, where: string): Hex | undefined {
  const hash = value === undefined || value === null ? undefined : parseHash(value, where);
  return hash === ZERO_HASH ? undefined : hash;
}

function readTransaction(value: unknown, at: number): Uint8Array {
  const hex: Hex = parseBytes(value, `diff.transactions[${at}]`);
  if (hex === '0x') throw new InvalidParamsError(`diff.transactions[${at}]: empty`);
  return fromHex(hex);
}

function digestOf(content: Omit<Flashblock, 'digest' | 'text'>, saidHash: Hex | undefined): string {
  const { base, diff, ...place } = content;
  const { transactions, ...roots } = diff;
  const said = { ...roots, blockHash: saidHash };
  const fields = [place, base ?? {}, said].flatMap((part) => Object.values(part).map(String));
  const hash = createHash('sha256').update(fields.join());
  for (const transaction of transactions) hash.update(`,${transaction.length},`).update(transaction);
  return hash.digest('base64');
}
