import { appendFile, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ByteReader, ByteWriter, CodecError } from '../../chain/byte-codec.ts';
import type { StateDiff } from '../../chain/diff.ts';
import { encodeDiff } from '../../chain/diff-codec.ts';
import type { StateVersion } from '../../store/interface.ts';
import { readBytes, writeBytes } from './codec.ts';

const FOLDER = 'unsealed';
/** Bytes that are kept in memory before they go to files. */
const BUFFER_BYTES = 2 ** 25;
const TAGS = { wipe: 1, account: 2, slot: 3, whole: 4 } as const;

type Builder = { readonly [part in keyof StateDiff]: StateDiff[part][number][] };

/**
 * Sorts by blocks what a store gives by keys: each range of blocks has a file, which is read when its turn comes. So what is in memory
 * is a buffer, and the diffs of one range.
 */
export class DiffSpill {
  readonly #folder: string;
  readonly #rangeBlocks: number;
  readonly #buffers = new Map<number, ByteWriter>();
  #buffered = 0;

  constructor(folder: string, rangeBlocks: number) {
    this.#folder = join(folder, FOLDER);
    this.#rangeBlocks = rangeBlocks;
  }

  /** Forgets what an earlier run left. */
  async clear(): Promise<void> {
    this.#buffers.clear();
    this.#buffered = 0;
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Takes what a block changed in one key. */
  async add(version: Exclude<StateVersion, { kind: 'code' }>): Promise<void> {
    await this.#write(version.number, (out) => {
      out.byte(TAGS[version.kind]);
      out.varint(version.number);
      out.raw(version.address);
      if (version.kind === 'slot') out.raw(version.slot);
      if (version.kind !== 'wipe') writeBytes(out, version.value);
    });
  }

  /** Takes all that a block changed, as the native core wrote it. */
  async addWhole(number: number, diffBytes: Uint8Array): Promise<void> {
    await this.#write(number, (out) => {
      out.byte(TAGS.whole);
      out.varint(number);
      writeBytes(out, diffBytes);
    });
  }

  /** What each block of the range that begins with `first` changed, encoded; blocks that changed nothing are left out. */
  async take(first: number): Promise<ReadonlyMap<number, Uint8Array>> {
    const range = this.#rangeOf(first);
    const file = join(this.#folder, String(range));
    const parts = [await readFile(file).catch(missingIsEmpty), this.#buffers.get(range)?.finish()];
    this.#buffers.delete(range);
    await rm(file, { force: true });
    const whole = new Map<number, Uint8Array>();
    const built = new Map<number, Builder>();
    const input = new ByteReader(Buffer.concat(parts.filter((part) => part !== undefined)));
    while (input.remaining > 0) readRecord(input, whole, built);
    for (const [number, diff] of built) whole.set(number, encodeDiff(diff));
    return whole;
  }

  async #write(number: number, write: (out: ByteWriter) => void): Promise<void> {
    const range = this.#rangeOf(number);
    const out = this.#buffers.get(range) ?? new ByteWriter(256);
    this.#buffers.set(range, out);
    const before = out.length;
    write(out);
    this.#buffered += out.length - before;
    if (this.#buffered < BUFFER_BYTES) return;
    await mkdir(this.#folder, { recursive: true });
    for (const [each, buffer] of this.#buffers)
      await appendFile(join(this.#folder, String(each)), buffer.finish());
    this.#buffers.clear();
    this.#buffered = 0;
  }

  #rangeOf(number: number): number {
    return Math.floor(number / this.#rangeBlocks);
  }
}

function readRecord(input: ByteReader, whole: Map<number, Uint8Array>, built: Map<number, Builder>): void {
  const tag = input.byte();
  const number = input.varint();
  if (tag === TAGS.whole) {
    whole.set(number, readBytes(input));
    return;
  }
  const diff = built.get(number) ?? { wiped: [], accounts: [], slots: [], codes: [] };
  built.set(number, diff);
  const address = input.raw(20);
  if (tag === TAGS.wipe) diff.wiped.push(address);
  else if (tag === TAGS.account) diff.accounts.push([address, readBytes(input)]);
  else if (tag === TAGS.slot) diff.slots.push([address, input.raw(32), readBytes(input)]);
  else throw new CodecError(`unknown record ${tag}`);
}

function missingIsEmpty(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
