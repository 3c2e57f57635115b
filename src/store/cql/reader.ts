import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import { decodeReceipts } from '../../chain/receipt-codec.ts';
import type { StateKey } from '../../chain/state-key.ts';
import { fromHex, type Hex } from '../../primitives/hex.ts';
import { Pace } from '../../primitives/pace.ts';
import { StoreError } from '../error.ts';
import type {
  BlockLogs,
  BlockReceipts,
  LogMatch,
  LogQuery,
  Marks,
  StateEntry,
  StateVersion,
  StoreReader,
  TransactionPlace,
} from '../interface.ts';
import { outOfRange } from '../marks.ts';
import { createMatcher } from '../match.ts';
import { type PartKind, readBlockLogs, readPart } from './bodies.ts';
import { readCode, readHash, readNumber, readPlaces } from './index-rows.ts';
import { searchIndex } from './logs/search.ts';
import { copyOf, type Root } from './root.ts';
import { versionsBetween } from './scan/versions.ts';
import type { Session } from './session.ts';
import { readVersion, scanSubjects } from './state-rows.ts';
import { logsOf, type Subject, subjectOf, subjectText, type Version, wipeSubject } from './tail.ts';
import type { View } from './view.ts';

const EMPTY = new Uint8Array(0);
/** Keys of a scan that are read together. */
const SCAN_KEYS = 512;

/** Reads a chain: what is indexed from the servers, the rest from memory. */
export class CqlReader implements StoreReader {
  readonly #session: Session;
  readonly #chain: string;
  readonly #view: View;

  constructor(session: Session, chain: string, view: View) {
    this.#session = session;
    this.#chain = chain;
    this.#view = view;
  }

  /** Blocks that the index has not come to. */
  get unindexed(): number {
    return this.#view.tail.length;
  }

  async getMeta(name: string): Promise<string | undefined> {
    const query = 'SELECT value FROM texts WHERE chain = ? AND name = ?';
    const [row] = await this.#session.rows(query, [this.#chain, name]);
    return row?.['value'] as string | undefined;
  }

  marks(): Marks | undefined {
    // However old: only rows can be gone.
    return this.#view.shown?.marks;
  }

  async canonicalHash(number: number): Promise<Hex | undefined> {
    const { root } = this.#view;
    if (root === undefined || number < root.marks.lowest.number || number > root.marks.head.number)
      return undefined;
    return this.#view.tail.at(number)?.hash ?? (await this.#hash(root, number));
  }

  async numberOf(hash: Hex): Promise<number | undefined> {
    const { root, tail } = this.#view;
    if (root === undefined) return undefined;
    const number = tail.find(hash)?.number ?? (await readNumber(this.#session, copyOf(root), hash));
    const marks = this.marks();
    const isHeld = number !== undefined && marks !== undefined && number >= marks.lowest.number;
    // Of one that is not canonical any more rows may be left, above what is indexed.
    return isHeld && (await this.canonicalHash(number)) === hash ? number : undefined;
  }

  async header(ref: BlockRef): Promise<Uint8Array | undefined> {
    return this.#recent(ref)?.header ?? this.#part(ref, 'header');
  }

  async block(ref: BlockRef): Promise<Uint8Array | undefined> {
    return this.#recent(ref)?.block ?? this.#part(ref, 'block');
  }

  async receipts(ref: BlockRef): Promise<BlockReceipts | undefined> {
    const recent = this.#recent(ref);
    if (recent !== undefined) return { receipts: recent.receipts, logs: logsOf(recent) };
    return this.#ofIndexed(ref, async (copy) => {
      const [bytes, logs] = await Promise.all([
        readPart(this.#session, copy, ref, 'receipts'),
        readBlockLogs(this.#session, copy, ref),
      ]);
      return bytes && logs && { receipts: decodeReceipts(bytes), logs };
    });
  }

  async blockLogs(ref: BlockRef): Promise<BlockLogs | undefined> {
    const recent = this.#recent(ref);
    if (recent !== undefined) return logsOf(recent);
    return this.#ofIndexed(ref, (copy) => readBlockLogs(this.#session, copy, ref));
  }

  async transaction(hash: Hex): Promise<TransactionPlace | undefined> {
    const { root, tail } = this.#view;
    if (root === undefined) return undefined;
    const recent = tail.transaction(fromHex(hash));
    if (recent !== undefined) return this.#recent(recent) && recent;
    const { marks, indexed } = root;
    const places = await readPlaces(this.#session, copyOf(root), hash);
    const place = places.find(({ number }) => number >= marks.lowest.number && number <= indexed);
    const block = place && (await this.canonicalHash(place.number));
    return place && block ? { number: place.number, hash: block, index: place.index } : undefined;
  }

  transactionsFrom(): number | undefined {
    return this.marks()?.lowest.number;
  }

  undoFloor(): number | undefined {
    const { root } = this.#view;
    return root && Math.min(root.marks.head.number, Math.max(root.marks.anchor.number, root.settled));
  }

  async diffBytes(number: number): Promise<Uint8Array | undefined> {
    const { root, tail } = this.#view;
    if (root === undefined || number <= root.settled) return undefined;
    const recent = tail.at(number);
    if (recent !== undefined) return recent.diffBytes;
    const hash = await this.canonicalHash(number);
    return hash && this.#part({ number, hash }, 'diff');
  }

  async *findLogs(
    query: LogQuery,
    from: number,
    to: number,
    checkpoint: () => void = () => {},
  ): AsyncGenerator<LogMatch, void, undefined> {
    if (from > to) return;
    const { root, tail } = this.#view;
    if (root === undefined || from < root.marks.lowest.number || to > root.marks.head.number) {
      throw outOfRange(`blocks ${from} to ${to}`, root?.marks);
    }
    const reading = this.#view.begin(from, to);
    const check = (): void => {
      checkpoint();
      reading.check();
    };
    try {
      const recent = tail.blocks.filter(({ number }) => number >= from && number <= to);
      const search = {
        ...{ session: this.#session, copy: copyOf(root), checkpoint: check },
        canonicalHash: (number: number) => this.canonicalHash(number),
      };
      const indexedTo = Math.min(to, root.indexed);
      if (from <= indexedTo) yield* searchIndex(search, query, [from, indexedTo]);
      reading.check();
      const matches = createMatcher(query);
      const pace = new Pace();
      for (const outcome of recent) {
        if (pace.spend(1 + outcome.logs.length)) {
          await pace.rest();
          check();
        }
        const indexes = outcome.logs.flatMap((log, index) => (matches(log) ? [index] : []));
        if (indexes.length > 0) yield { block: logsOf(outcome), indexes };
        reading.check();
      }
    } catch (error) {
      reading.check();
      throw error;
    } finally {
      this.#view.end(reading);
    }
  }

  async loadState(
    keys: readonly StateKey[],
    number: number,
    of?: BlockRef,
  ): Promise<(Uint8Array | undefined)[]> {
    const root = this.#stateRoot(number);
    return this.#view.read(number, Math.max(number, of?.number ?? 0), async () => {
      const wipes = new Wipes(this.#session, root, number);
      const [values, hash] = await Promise.all([
        Promise.all(keys.map((key) => this.#value(root, key, number, wipes))),
        of && this.canonicalHash(of.number),
      ]);
      if (of !== undefined && hash !== of.hash)
        throw new StoreError('reorganised', `block ${of.number} ${of.hash} is not canonical`);
      return values;
    });
  }

  isComplete(): boolean {
    return this.#view.root?.partial === false;
  }

  async *scanState(number: number): AsyncGenerator<StateEntry, void, undefined> {
    const root = this.#stateRoot(number);
    const reading = this.#view.begin(number, number);
    try {
      const subjects = new Map<string, Subject>();
      const add = (subject: Subject): unknown => subjects.set(subjectText(subject), subject);
      for (const subject of this.#view.tail.subjects()) add(subject);
      for await (const subject of scanSubjects(this.#session, copyOf(root))) add(subject);
      const keys = [...subjects]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .flatMap(([, { address, slot }]): Exclude<StateKey, { kind: 'code' | 'blockHash' }>[] => {
          if (slot.length === 0) return [{ kind: 'account', address }];
          return slot.length === 32 ? [{ kind: 'slot', address, slot }] : [];
        });
      for (let at = 0; at < keys.length; at += SCAN_KEYS) {
        const page = keys.slice(at, at + SCAN_KEYS);
        const values = await this.loadState(page, number);
        for (const [index, key] of page.entries()) {
          const value = values[index];
          if (value !== undefined && value.length > 0) yield { ...key, value };
          reading.check();
        }
      }
    } finally {
      this.#view.end(reading);
    }
  }

  async *scanVersions(from: number, to: number): AsyncGenerator<StateVersion, void, undefined> {
    this.#stateRoot(from);
    const root = this.#stateRoot(to);
    const reading = this.#view.begin(from, to);
    const source = {
      ...{ session: this.#session, root, tail: this.#view.tail },
      values: (keys: readonly StateKey[]) => this.loadState(keys, from),
    };
    try {
      for await (const version of versionsBetween(source, from, to)) {
        reading.check();
        yield version;
      }
      reading.check();
    } finally {
      this.#view.end(reading);
    }
  }

  /** A block that is held in memory; those below the lowest may be, until they are indexed. */
  #recent(ref: BlockRef): Outcome | undefined {
    const { root, tail } = this.#view;
    const recent = tail.find(ref.hash);
    return recent?.number === ref.number && ref.number >= (root?.marks.lowest.number ?? 0)
      ? recent
      : undefined;
  }

  #part(ref: BlockRef, kind: PartKind): Promise<Uint8Array | undefined> {
    return this.#ofIndexed(ref, (copy) => readPart(this.#session, copy, ref, kind));
  }

  /** Reads rows of a block that is indexed; those of blocks that are not canonical are nobody's. */
  async #ofIndexed<T>(ref: BlockRef, read: (copy: bigint) => Promise<T | undefined>): Promise<T | undefined> {
    const { root } = this.#view;
    if (root === undefined || ref.number < root.marks.lowest.number || ref.number > root.indexed)
      return undefined;
    const [rows, hash] = await Promise.all([read(copyOf(root)), this.#hash(root, ref.number)]);
    return hash === ref.hash ? rows : undefined;
  }

  async #hash(root: Root, number: number): Promise<Hex | undefined> {
    return number > root.indexed ? undefined : readHash(this.#session, copyOf(root), number);
  }

  #stateRoot(number: number): Root {
    const { root } = this.#view;
    if (root === undefined || number < root.marks.anchor.number || number > root.marks.head.number)
      throw outOfRange(`state of block ${number}`, root?.marks);
    return root;
  }

  async #value(root: Root, key: StateKey, number: number, wipes: Wipes): Promise<Uint8Array | undefined> {
    const absent = root.partial ? undefined : EMPTY;
    const { tail } = this.#view;
    switch (key.kind) {
      case 'code':
        return (
          tail.code(key.hash) ?? (await readCode(this.#session, copyOf(root), key, root.indexed)) ?? absent
        );
      case 'blockHash': {
        if (key.number > number) return absent;
        const hash = tail.at(key.number)?.hash ?? (await this.#hash(root, key.number));
        return hash && fromHex(hash);
      }
      case 'account':
      case 'slot': {
        const subject = subjectOf(key);
        const recent = tail.version(subject, number);
        const wiped = key.kind === 'slot' ? tail.version(wipeSubject(key.address), number) : undefined;
        // A slot written by the block that wiped the account was written after the wipe.
        if (recent !== undefined && recent.number >= (wiped?.number ?? 0)) return recent.value;
        if (wiped !== undefined) return EMPTY;
        return (await this.#indexed(root, key, subject, Math.min(number, root.indexed), wipes)) ?? absent;
      }
    }
  }

  async #indexed(
    root: Root,
    key: StateKey,
    subject: Subject,
    number: number,
    wipes: Wipes,
  ): Promise<Uint8Array | undefined> {
    const [version, wiped] = await Promise.all([
      readVersion(this.#session, copyOf(root), subject, number),
      key.kind === 'slot' && root.wipes ? wipes.last(key.address) : undefined,
    ]);
    if (wiped === undefined) return version?.value;
    return version !== undefined && version.number >= wiped.number ? version.value : EMPTY;
  }
}

/** The last indexed wipes of accounts as of a block, each read once. */
class Wipes {
  readonly #session: Session;
  readonly #root: Root;
  readonly #number: number;
  readonly #known = new Map<string, Promise<Version | undefined>>();

  constructor(session: Session, root: Root, number: number) {
    this.#session = session;
    this.#root = root;
    this.#number = Math.min(number, root.indexed);
  }

  last(address: Uint8Array): Promise<Version | undefined> {
    const subject = wipeSubject(address);
    const text = subjectText(subject);
    const known =
      this.#known.get(text) ?? readVersion(this.#session, copyOf(this.#root), subject, this.#number);
    this.#known.set(text, known);
    return known;
  }
}
