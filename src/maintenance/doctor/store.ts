import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { timestampOf } from '../../chain/header-time.ts';
import type { CommandOptions } from '../../config/table.ts';
import { storedRules } from '../../follow/rules/chain-rules.ts';
import { UPGRADE } from '../../follow/rules/fork-watch.ts';
import { storedTooOld } from '../../follow/rules/rules-health.ts';
import { StoreError } from '../../store/error.ts';
import type { Marks } from '../../store/interface.ts';
import { type LmdbStore, openLmdbStore } from '../../store/lmdb/index.ts';
import { storeFile } from '../../store/lmdb/store-file.ts';
import { Section } from './report.ts';

/** What is known of a store once it was examined. */
export interface StoreFacts {
  readonly section: Section;
  readonly marks: Marks | undefined;
  readonly rules: string | undefined;
  /** Of its head. */
  readonly timestamp: number | undefined;
}

const GIB = 2 ** 30;
const LITTLE_DISK = 10 * GIB;
const NO_DISK = GIB / 2;
/** Of the map size. */
const NEARLY_FULL = 0.8;

type Settings = Pick<CommandOptions<'doctor'>, 'storeMapSize'>;

/** Opens a store for reading only, and looks at what it holds and how much room there is. */
export async function examineStore(path: string, settings: Settings): Promise<StoreFacts> {
  const section = new Section(`store ${path}`);
  const found = existsSync(path) ? await examineExisting(path, settings, section) : undefined;
  if (!existsSync(path)) section.ok('store', 'does not exist yet: import or serve --upstream makes it');
  await checkDisk(path, section);
  return { section, marks: found?.marks, rules: found?.rules, timestamp: found?.timestamp };
}

async function examineExisting(
  path: string,
  { storeMapSize }: Settings,
  section: Section,
): Promise<Omit<StoreFacts, 'section'> | undefined> {
  const file = await storeFile(path);
  if (file === 'none') {
    section.ok('store', 'holds nothing yet');
    return undefined;
  }
  if (file === 'foreign') {
    section.fail('store', 'data.mdb is not a store', 'name another folder, or restore the store from a copy');
    return undefined;
  }
  let store: LmdbStore;
  try {
    store = await openLmdbStore({ path, mapSizeBytes: storeMapSize, readOnly: true });
  } catch (error) {
    const empty = error instanceof StoreError && error.code === 'outOfRange';
    const words = error instanceof Error ? error.message : String(error);
    if (empty) section.ok('store', 'holds nothing yet');
    else section.fail('store', words, 'check that it is a store of this program, whole and readable');
    return undefined;
  }
  try {
    const marks = store.marks();
    const rules = await storedRules(store);
    if (marks === undefined) section.ok('store', 'holds no chain yet');
    else {
      const { lowest, anchor, head } = marks;
      section.ok(
        'store',
        `blocks ${lowest.number} to ${head.number}, state from ${anchor.number} on; verify re-checks them`,
      );
    }
    const tooOld = await storedTooOld(store);
    // Followed by state diffs it is no reason to stop, but one to upgrade.
    if (tooOld !== undefined && marks?.byDiffs !== undefined) section.warn('rulesTooOld', tooOld, UPGRADE);
    else if (tooOld !== undefined) section.fail('rulesTooOld', tooOld, UPGRADE);
    checkSize(store.usedBytes(), storeMapSize, section);
    const header = marks && store.header(marks.head);
    return { marks, rules, timestamp: header && timestampOf(header) };
  } finally {
    await store.close();
  }
}

function checkSize(used: number, limit: number, section: Section): void {
  const detail = `${formatBytes(used)} of at most ${formatBytes(limit)}`;
  if (used < limit * NEARLY_FULL) section.ok('size', detail);
  else section.warn('size', detail, 'raise --store-map-size: it is address space, not memory or disk');
}

async function checkDisk(path: string, section: Section): Promise<void> {
  let folder = resolve(path);
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder);
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const detail = `${formatBytes(free)} free`;
  if (free < NO_DISK) section.fail('disk', detail, 'make room: blocks cannot be written without');
  else if (free < LITTLE_DISK) section.warn('disk', detail, 'make room before it runs out');
  else section.ok('disk', detail);
}

/** A size in the largest unit that leaves a number above one. */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [value, unit] = [bytes, 0];
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}
