import { type FileHandle, open } from 'node:fs/promises';

/** A piece of an RLP file. */
interface Span {
  readonly offset: number;
  readonly length: number;
}

/** An RLP list header is at most nine bytes: one that says how many length bytes follow, and eight of those. */
const MAX_HEADER = 9;
/** Longer than any block of a real chain; a length above it is damage, not data. */
const MAX_ITEM_BYTES = 256 * 2 ** 20;

/**
 * A file of RLP lists one after another, as `geth export` writes it. Only the outer lengths are read here, so that
 * a file of any size streams block by block; what is inside is the native core's business. The RLP packages decode
 * whole items from memory and have no such reader.
 */
export class RlpFile {
  readonly #file: FileHandle;
  readonly #spans: readonly Span[];

  private constructor(file: FileHandle, spans: readonly Span[]) {
    this.#file = file;
    this.#spans = spans;
  }

  /** Opens a file and finds where its items are. */
  static async open(path: string): Promise<RlpFile> {
    const file = await open(path, 'r');
    try {
      return new RlpFile(file, await findSpans(file, path));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** How many items there are. */
  get length(): number {
    return this.#spans.length;
  }

  /** Reads the items, one at a time. */
  async *items(): AsyncGenerator<Buffer, void, void> {
    for (const { offset, length } of this.#spans) {
      const item = Buffer.allocUnsafe(length);
      const { bytesRead } = await this.#file.read(item, 0, length, offset);
      if (bytesRead !== length) throw new Error('the file became shorter while it was read');
      yield item;
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

async function findSpans(file: FileHandle, path: string): Promise<Span[]> {
  const { size } = await file.stat();
  const spans: Span[] = [];
  const header = Buffer.alloc(MAX_HEADER);
  for (let offset = 0; offset < size; ) {
    const { bytesRead } = await file.read(header, 0, MAX_HEADER, offset);
    const length = itemLength(header.subarray(0, bytesRead));
    if (length === undefined || length > MAX_ITEM_BYTES || offset + length > size) {
      throw new Error(`${path} is not a file of RLP blocks: no whole list at byte ${offset}`);
    }
    spans.push({ offset, length });
    offset += length;
  }
  return spans;
}

/** Length of an RLP list with its header; undefined for what is no list or is cut off. */
export function itemLength(bytes: Uint8Array): number | undefined {
  const first = bytes[0];
  if (first === undefined || first < 0xc0) return undefined;
  if (first <= 0xf7) return 1 + first - 0xc0;
  const count = first - 0xf7;
  if (bytes.length < 1 + count) return undefined;
  let length = 0;
  for (const byte of bytes.subarray(1, 1 + count)) length = length * 256 + byte;
  return 1 + count + length;
}
