import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { SnapshotError } from './error.ts';
import {
  LIMITS,
  type Manifest,
  parseManifest,
  renderManifest,
  type SegmentRef,
  sha256Of,
} from './manifest.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

const MANIFEST = 'manifest.json';
const SEGMENTS = 'segments';
const SEGMENT_FILE = /^[0-9a-f]{64}\.zst$/;

/** A folder that holds a snapshot, or will once its manifest is written. */
export class SnapshotFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** The manifest; undefined where there is none, so no snapshot. */
  async manifest(): Promise<Manifest | undefined> {
    const file = join(this.path, MANIFEST);
    const size = await sizeOf(file);
    if (size === undefined) return undefined;
    if (size > LIMITS.manifestBytes) throw new SnapshotError('the manifest is too large to be one');
    return parseManifest(await readFile(file, 'utf8'));
  }

  async prepare(): Promise<void> {
    await mkdir(join(this.path, SEGMENTS), { recursive: true });
  }

  /** Whether the file of a segment is there; its bytes are looked at when it is read. */
  async has({ sha256, bytes }: Pick<SegmentRef, 'sha256' | 'bytes'>): Promise<boolean> {
    return (await sizeOf(this.#fileOf(sha256))) === bytes;
  }

  /** Writes a segment whole, unless it is there. */
  async write(raw: Uint8Array): Promise<Pick<SegmentRef, 'sha256' | 'bytes' | 'rawBytes'>> {
    const file = await compress(raw);
    const ref = { sha256: sha256Of(file), bytes: file.length, rawBytes: raw.length };
    if (!(await this.has(ref))) await writeWhole(this.#fileOf(ref.sha256), file);
    return ref;
  }

  /** The content of a segment; refused unless it is exactly what the manifest says, and no larger. */
  async read(ref: SegmentRef): Promise<Buffer> {
    const { sha256, bytes, rawBytes, kind } = ref;
    const what = `segment ${sha256} (${kind} ${ref.first} to ${ref.last})`;
    const size = await sizeOf(this.#fileOf(sha256));
    if (size === undefined) throw new SnapshotError(`${what} is missing`);
    if (size !== bytes) throw new SnapshotError(`${what} has ${size} bytes, and the manifest says ${bytes}`);
    const file = await readFile(this.#fileOf(sha256));
    if (sha256Of(file) !== sha256) throw new SnapshotError(`${what} is damaged: its hash is another`);
    try {
      const raw = await decompress(file, { maxOutputLength: Math.max(1, rawBytes) });
      if (raw.length === rawBytes) return raw;
    } catch (cause) {
      throw new SnapshotError(`${what} cannot be decompressed to ${rawBytes} bytes`, { cause });
    }
    throw new SnapshotError(`${what} has another length than the manifest says`);
  }

  /** Makes it a snapshot, all of whose segments are on disk; then deletes those of the one before that it does not use. */
  async seal(manifest: Manifest): Promise<void> {
    const text = renderManifest(manifest);
    if (Buffer.byteLength(text) > LIMITS.manifestBytes || manifest.segments.length > LIMITS.segments)
      throw new SnapshotError(`${manifest.segments.length} segments are more than one snapshot may have`);
    await syncFolder(join(this.path, SEGMENTS));
    await writeWhole(join(this.path, MANIFEST), text);
    await syncFolder(this.path);
    const used = new Set(manifest.segments.map(({ sha256 }) => `${sha256}.zst`));
    for (const name of await readdir(join(this.path, SEGMENTS))) {
      if (SEGMENT_FILE.test(name) && !used.has(name)) await rm(join(this.path, SEGMENTS, name));
    }
  }

  /** Hashes are all hex digits here, so no name leads out of the folder. */
  #fileOf(sha256: string): string {
    return join(this.path, SEGMENTS, `${sha256}.zst`);
  }
}

async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** On disk under its name as a whole, or not at all. */
async function writeWhole(file: string, content: string | Uint8Array): Promise<void> {
  const staged = `${file}.tmp-${process.pid}`;
  const handle = await open(staged, 'w');
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(staged, file);
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
