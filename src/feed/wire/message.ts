import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { ByteReader, ByteWriter, CodecError } from '../../chain/byte-codec.ts';

/** Read first of every message; docs/feed.md says how it changes. */
const FORMAT_VERSION = 1;

const COMPRESSED = 1;
const IN_PARTS = 2;
const KNOWN_FLAGS = COMPRESSED | IN_PARTS;

const CHECKSUM_BYTES = 4;
/** The most a head takes: version, flags, four varints; and the checksum at the end. */
const MAX_OVERHEAD = 2 + 4 * 8 + CHECKSUM_BYTES;
/** Far more than any item needs: 4,096 parts of the default size are 2 GiB. */
const MAX_PARTS = 4_096;

/** Shorter bodies gain nothing. */
const MIN_COMPRESSED_BYTES = 256;
/** Of a busy block, level 3 gives 2 % less and takes half as long again. */
const COMPRESSION_LEVEL = 1;
/** What level 1 uses is 2^19; a frame that asks a reader for more memory than 2^23 is not ours. */
const MAX_WINDOW_LOG = 23;
/** Bytes are decompressed in pieces of this size, so that memory follows what comes out and not what was promised. */
const DECOMPRESSED_CHUNK = 256 * 1_024;

/** Where a message stands: the writer's epoch, and a count from 1 within it. */
export interface Position {
  readonly epoch: number;
  readonly sequence: number;
}

/** One message of the feed: a whole body, or a part of one. */
export interface Part extends Position {
  readonly compressed: boolean;
  /** Which of how many parts, from 0. */
  readonly part: number;
  readonly parts: number;
  /** A view of the message. */
  readonly piece: Uint8Array;
}

/** A message of a version that this program does not know: its writer is newer, or something else writes here. */
export class UnknownFormatError extends CodecError {}

/** Makes the messages that carry an item: one, or as many parts as keep each within `partBytes`. */
export function encodeMessages(position: Position, item: Uint8Array, partBytes: number): Uint8Array[] {
  const { compressed, body } = compress(item);
  const room = partBytes - MAX_OVERHEAD;
  const parts = Math.max(1, Math.ceil(body.length / room));
  if (room < 1 || parts > MAX_PARTS) throw new RangeError(`${body.length} bytes in parts of ${partBytes}`);
  return Array.from({ length: parts }, (_, part) => {
    const head = new ByteWriter(MAX_OVERHEAD);
    head.byte(FORMAT_VERSION);
    head.byte((compressed ? COMPRESSED : 0) | (parts > 1 ? IN_PARTS : 0));
    head.varint(position.epoch);
    head.varint(position.sequence);
    if (parts > 1) {
      head.varint(part);
      head.varint(parts);
    }
    const piece = body.subarray(part * room, (part + 1) * room);
    const message = Buffer.allocUnsafe(head.length + piece.length + CHECKSUM_BYTES);
    message.set(head.finish());
    message.set(piece, head.length);
    const end = head.length + piece.length;
    message.writeUInt32LE(crc32(message.subarray(0, end)), end);
    return message;
  });
}

/** Reads the head of a message; `UnknownFormatError` for another version, `CodecError` for what is no message of ours. */
export function decodePart(message: Uint8Array): Part {
  const version = message[0];
  if (version !== undefined && version !== FORMAT_VERSION) {
    throw new UnknownFormatError(`a message of format ${version}; this program reads ${FORMAT_VERSION}`);
  }
  if (message.length < CHECKSUM_BYTES) throw new CodecError('unexpected end of bytes');
  const end = message.length - CHECKSUM_BYTES;
  const told = Buffer.from(message.buffer, message.byteOffset, message.length).readUInt32LE(end);
  const checked = message.subarray(0, end);
  if (crc32(checked) !== told) throw new CodecError('wrong checksum');
  const input = new ByteReader(checked, 1);
  const flags = input.byte();
  if ((flags & ~KNOWN_FLAGS) !== 0) throw new CodecError(`unknown flags ${flags}`);
  const epoch = input.varint();
  const sequence = input.varint();
  if (sequence === 0) throw new CodecError('sequences begin at 1');
  const inParts = (flags & IN_PARTS) !== 0;
  const part = inParts ? input.varint() : 0;
  const parts = inParts ? input.varint() : 1;
  if (parts > MAX_PARTS || part >= parts) throw new CodecError(`part ${part} of ${parts}`);
  const compressed = (flags & COMPRESSED) !== 0;
  return { epoch, sequence, compressed, part, parts, piece: input.raw(input.remaining) };
}

/** Puts the pieces of an item together again, in memory of its own, which is never more than `maxBytes`. */
export function joinPieces(pieces: readonly Uint8Array[], compressed: boolean, maxBytes: number): Uint8Array {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (length > maxBytes) throw new CodecError(`an item of ${length} bytes; the limit is ${maxBytes}`);
  const body = new Uint8Array(length);
  let offset = 0;
  for (const piece of pieces) {
    body.set(piece, offset);
    offset += piece.length;
  }
  return compressed ? decompress(body, maxBytes) : body;
}

function compress(item: Uint8Array): { readonly compressed: boolean; readonly body: Uint8Array } {
  if (item.length >= MIN_COMPRESSED_BYTES) {
    const frame = zstdCompressSync(item, {
      params: { [constants.ZSTD_c_compressionLevel]: COMPRESSION_LEVEL },
      chunkSize: Math.max(MIN_COMPRESSED_BYTES, item.length >> 1),
    });
    const out = new ByteWriter(frame.length + 8);
    out.varint(item.length);
    out.raw(frame);
    if (out.length < item.length) return { compressed: true, body: out.finish() };
  }
  return { compressed: false, body: item };
}

function decompress(body: Uint8Array, maxBytes: number): Uint8Array {
  const input = new ByteReader(body);
  const length = input.varint();
  if (length > maxBytes) throw new CodecError(`an item of ${length} bytes; the limit is ${maxBytes}`);
  let item: Buffer;
  try {
    item = zstdDecompressSync(input.raw(input.remaining), {
      params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG },
      maxOutputLength: Math.max(1, length),
      chunkSize: Math.min(DECOMPRESSED_CHUNK, Math.max(64, length)),
    });
  } catch (cause) {
    throw new CodecError('bytes that do not decompress', { cause });
  }
  if (item.length !== length) throw new CodecError(`${item.length} bytes instead of ${length}`);
  return item;
}
