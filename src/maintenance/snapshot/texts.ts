import type { StoreReader } from '../../store/interface.ts';
import { SnapshotError } from './error.ts';
import type { SnapshotFolder } from './folder.ts';
import type { Manifest, SegmentRef } from './manifest.ts';

/** All that is kept with a copy as text: its genesis, the rules that it is followed by, and what was learned of them. */
const NAMES = ['genesis', 'rules', 'adoptedBlobs', 'followedBy', 'rulesTooOld'] as const;
type Texts = ReadonlyMap<string, string>;

/** Writes the texts of a copy as a segment. */
export async function copyTexts(
  store: Pick<StoreReader, 'getMeta'>,
  folder: SnapshotFolder,
): Promise<SegmentRef> {
  const texts: Record<string, string> = {};
  for (const name of NAMES) {
    const text = await store.getMeta(name);
    if (text !== undefined) texts[name] = text;
  }
  const written = await folder.write(Buffer.from(JSON.stringify(texts)));
  const names = Object.keys(texts);
  return { kind: 'texts', ...written, count: names.length, first: names[0] ?? '', last: names.at(-1) ?? '' };
}

/** Reads them back. */
export async function readTexts(manifest: Manifest, folder: SnapshotFolder): Promise<Texts> {
  const [segment, ...more] = manifest.segments.filter(({ kind }) => kind === 'texts');
  if (segment === undefined || more.length > 0)
    throw new SnapshotError('the snapshot has not one segment of texts');
  const texts = new Map<string, string>();
  for (const [name, text] of Object.entries(parsed(await folder.read(segment)))) {
    if (typeof text !== 'string' || !NAMES.some((known) => known === name))
      throw new SnapshotError('the texts of the snapshot are not valid');
    texts.set(name, text);
  }
  return texts;
}

function parsed(bytes: Buffer): object {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    if (typeof value === 'object' && value !== null) return value;
  } catch (cause) {
    throw new SnapshotError('the texts of the snapshot are not JSON', { cause });
  }
  throw new SnapshotError('the texts of the snapshot are not valid');
}
