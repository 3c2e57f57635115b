import { ByteWriter } from '../../chain/byte-codec.ts';
import type { Outcome } from '../../chain/outcome.ts';
import { entryName, type StartEntry, writeEntry, writeOutcome } from './codec.ts';
import { SnapshotError } from './error.ts';
import type { SnapshotFolder } from './folder.ts';
import { LIMITS, type SegmentKind, type SegmentRef } from './manifest.ts';

/** Where a segment is cut; a block that is larger is one of its own. */
const CUT_BYTES = 2 ** 24;
/** No segment of state ends before it has so many bytes, and about one key in so many ends it then. */
const LEAST_BYTES = 2 ** 20;
const ENDING_KEYS = 4_096;

/**
 * Cuts state into segments. Where one ends depends on the keys in it: what is added or changed later makes a few of them others, not all
 * that follow.
 */
export class StateCutter {
  readonly #folder: SnapshotFolder;
  readonly #kind: SegmentKind;
  readonly #done: SegmentRef[] = [];
  #out = new ByteWriter(LEAST_BYTES);
  #first: string | undefined;
  #last = '';
  #count = 0;
  #total = 0;

  constructor(folder: SnapshotFolder, kind: 'start' | 'pins') {
    this.#folder = folder;
    this.#kind = kind;
  }

  async add(entry: StartEntry): Promise<void> {
    writeEntry(this.#out, entry);
    this.#last = entryName(entry);
    this.#first ??= this.#last;
    this.#count++;
    const { length } = this.#out;
    if (length >= CUT_BYTES || (length >= LEAST_BYTES && isEnding(this.#last))) await this.#cut();
  }

  /** All segments. */
  async finish(): Promise<readonly SegmentRef[]> {
    if (this.#count > 0) await this.#cut();
    return this.#done;
  }

  async #cut(): Promise<void> {
    const raw = this.#out.finish();
    this.#total += raw.length;
    if (this.#kind === 'start' && this.#total > LIMITS.startBytes)
      throw new SnapshotError(
        `the copy is complete and its state is larger than ${LIMITS.startBytes} bytes, which a restore writes in one step`,
      );
    const [first = '', last, count] = [this.#first, this.#last, this.#count];
    this.#done.push({ kind: this.#kind, ...(await this.#folder.write(raw)), count, first, last });
    this.#out = new ByteWriter(LEAST_BYTES);
    this.#first = undefined;
    this.#count = 0;
  }
}

/** By a hash of the name (FNV-1a), so that it is the same each time. */
function isEnding(name: string): boolean {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % ENDING_KEYS === 0;
}

/** Cuts the blocks of one range into segments, by size. */
export class HistoryCutter {
  readonly #folder: SnapshotFolder;
  readonly #diffsFrom: number;
  readonly #done: SegmentRef[] = [];
  #out = new ByteWriter(2 ** 16);
  #first: number | undefined;
  #last: Outcome | undefined;

  /** Blocks from `diffsFrom` on come with what they changed. */
  constructor(folder: SnapshotFolder, diffsFrom: number) {
    this.#folder = folder;
    this.#diffsFrom = diffsFrom;
  }

  async add(outcome: Outcome): Promise<void> {
    writeOutcome(this.#out, outcome);
    this.#first ??= outcome.number;
    this.#last = outcome;
    if (this.#out.length >= CUT_BYTES) await this.#cut();
  }

  async finish(): Promise<readonly SegmentRef[]> {
    await this.#cut();
    return this.#done;
  }

  async #cut(): Promise<void> {
    const [first, last] = [this.#first, this.#last];
    if (first === undefined || last === undefined) return;
    const diffsFrom = Math.max(first, this.#diffsFrom);
    this.#done.push({
      kind: 'history',
      ...(await this.#folder.write(this.#out.finish())),
      ...{ count: last.number - first + 1, first, last: last.number, hash: last.hash },
      ...(diffsFrom <= last.number && { diffsFrom }),
    });
    this.#out = new ByteWriter(2 ** 16);
    this.#first = undefined;
  }
}
