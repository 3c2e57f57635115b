import { createHash, randomBytes } from 'node:crypto';
import type { Outcome } from '../../chain/outcome.ts';
import type { Hex } from '../../primitives/hex.ts';
import { isUnavailable, StoreError } from '../error.ts';
import { otherForm } from '../form.ts';
import type { Marks } from '../interface.ts';
import { FORM } from './schema.ts';
import type { Session } from './session.ts';

/** All that decides what of the other tables can be seen: one row, changed by conditional writes only. */
export interface Root {
  /** Which rows are this chain's. */
  readonly copy: string;
  readonly marks: Marks;
  /** The hash of the parent of the lowest block: what the next block below must have. */
  readonly parent: Hex;
  /** The highest block that was ever deeper than the undo window. */
  readonly settled: number;
  /** Up to here, rows by key and postings are complete; what is above is answered from memory. */
  readonly indexed: number;
  /** Rows of blocks below are deleted. */
  readonly pruned: number;
  /** The first block came without the whole state, so that a key without a version is unknown. */
  readonly partial: boolean;
  /** Of the head as the feed carries it, so that a reader can tell whether it was told the truth; absent where it was never encoded. */
  readonly digest?: string | undefined;
  /** Some block wiped an account: slots are to be read with that in mind. */
  readonly wipes: boolean;
}

/** How often a conditional write that nobody answered is asked about. */
const ATTEMPTS = 5;
/** Bits of a time that count writes of one epoch. */
const COUNTER_BITS = 32n;

const SELECT = 'SELECT form, holder, epoch, seq, root FROM chains WHERE name = ?';

/** The number of a new copy. */
export function newCopy(): string {
  return String(randomBytes(8).readBigUInt64BE() >> 2n);
}

/** The digest of a block as the feed carries it. */
export function digestOf(outcome: Outcome): string | undefined {
  if (!('encoded' in outcome && outcome.encoded instanceof Uint8Array)) return undefined;
  return createHash('sha256').update(outcome.encoded).digest('base64url');
}

/** The copy whose rows a root row shows. */
export function copyOf(root: Root): bigint {
  return BigInt(root.copy);
}

/** The row as it was read. */
export interface Stored {
  /** Who holds the right to write; empty when nobody does. */
  readonly holder: string;
  readonly epoch: bigint;
  readonly seq: bigint;
  readonly root: Root | undefined;
}

/**
 * Reads the row of a chain; undefined if there is none. What is `committed` takes one round trip; a change that is under way may be missing
 * from it, which a writer must know of.
 */
export async function readRoot(
  session: Pick<Session, 'rows' | 'rowsNow'>,
  chain: string,
  extent: 'committed' | 'under way' = 'under way',
): Promise<Stored | undefined> {
  const [row] = await (extent === 'committed'
    ? session.rows(SELECT, [chain])
    : session.rowsNow(SELECT, [chain]));
  if (row === undefined) return undefined;
  if (row['form'] !== FORM) throw new StoreError('schema', otherForm('the store', row['form'], FORM));
  return {
    holder: row['holder'] as string,
    epoch: row['epoch'] as bigint,
    seq: row['seq'] as bigint,
    root: decodeRoot(row['root'] as string | null),
  };
}

/**
 * The row of a chain in the hands of its writer. The epoch is the writer's: whoever takes the row over raises it, and from then on no
 * conditional write of an earlier one succeeds, however long it slept.
 */
export class RootRow {
  readonly #session: Session;
  readonly #chain: string;
  readonly #epoch: bigint;
  #seq: bigint;
  #root: Root | undefined;
  #counter = 0n;
  /** A change of which nobody said whether it was made. */
  #open:
    | { readonly root: Root | undefined; readonly text: string | null; readonly show: () => void }
    | undefined;

  private constructor(session: Session, chain: string, stored: Stored) {
    this.#session = session;
    this.#chain = chain;
    this.#epoch = stored.epoch;
    this.#seq = stored.seq;
    this.#root = stored.root;
  }

  /** Takes the row over, whoever holds it. */
  static async take(session: Session, chain: string, holder: string): Promise<RootRow> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const stored = await readRoot(session, chain);
      const row = stored && (await RootRow.takeFrom(session, chain, holder, stored));
      if (row !== undefined) return row;
      if (stored === undefined) await create(session, chain);
    }
    throw new StoreError('inUse', `others take over chain ${chain} at the same time`);
  }

  /** Takes the row over if it is still as it was seen. */
  static async takeFrom(
    session: Session,
    chain: string,
    holder: string,
    seen: Stored,
  ): Promise<RootRow | undefined> {
    const epoch = seen.epoch + 1n;
    const query = 'UPDATE chains SET epoch = ?, holder = ? WHERE name = ? IF epoch = ? AND seq = ?';
    const taken = await session.writeIf(query, [epoch, holder, chain, seen.epoch, seen.seq]);
    return taken ? new RootRow(session, chain, { ...seen, epoch }) : undefined;
  }

  get epoch(): bigint {
    return this.#epoch;
  }

  get root(): Root | undefined {
    return this.#root;
  }

  /** A time for rows: later than all before it, and than those of every earlier writer, whatever their clocks say. */
  nextTime(): bigint {
    this.#counter += 1n;
    return (this.#epoch << COUNTER_BITS) + this.#counter;
  }

  /**
   * Makes what was written visible, or hides it, and says so by `show`. A reply that does not come leaves open whether it did: then the row
   * is asked, and the sequence keeps the same change from being made twice. Each change also says that its writer is alive.
   */
  async commit(root: Root | undefined, show: () => void): Promise<void> {
    const text = root === undefined ? null : JSON.stringify(root);
    const query = 'UPDATE chains SET seq = ?, root = ? WHERE name = ? IF epoch = ? AND seq = ?';
    const values = [this.#seq + 1n, text, this.#chain, this.#epoch, this.#seq];
    this.#open = { root, text, show };
    const before = this.#seq;
    for (let attempt = 0; attempt < ATTEMPTS && this.#open !== undefined; attempt++) {
      try {
        if (await this.#session.writeIf(query, values)) this.#done();
        else await this.settle();
      } catch (error) {
        if (!isUnavailable(error) || attempt === ATTEMPTS - 1) throw error;
      }
    }
    if (this.#seq === before)
      throw new StoreError('unavailable', `chain ${this.#chain} could not be changed`);
  }

  /** Finds out what became of a change that was given up. Nothing else may be changed before. */
  async settle(): Promise<void> {
    if (this.#open === undefined) return;
    const [row] = await this.#session.rowsNow(SELECT, [this.#chain]);
    if (row?.['epoch'] !== this.#epoch)
      throw new StoreError('inUse', `another process has taken over chain ${this.#chain}`);
    if (row['seq'] === this.#seq) this.#open = undefined;
    else if (row['seq'] === this.#seq + 1n && row['root'] === this.#open.text) this.#done();
    else throw new StoreError('corrupt', `chain ${this.#chain} is not as it was left`);
  }

  /** Lets others take over at once. */
  async release(): Promise<void> {
    const query = 'UPDATE chains SET holder = ? WHERE name = ? IF epoch = ? AND seq = ?';
    await this.#session.writeIf(query, ['', this.#chain, this.#epoch, this.#seq]);
  }

  #done(): void {
    if (this.#open === undefined) return;
    const { root, show } = this.#open;
    this.#seq += 1n;
    this.#root = root;
    this.#open = undefined;
    show();
  }
}

/** Makes the row of a chain, held by nobody. */
export async function create(session: Session, chain: string): Promise<void> {
  const query = 'INSERT INTO chains (name, form, holder, epoch, seq) VALUES (?, ?, ?, ?, ?) IF NOT EXISTS';
  await session.writeIf(query, [chain, FORM, '', 0n, 0n]);
}

/** Reads the text of a root row. */
export function decodeRoot(text: string | null): Root | undefined {
  if (text === null) return undefined;
  const root = JSON.parse(text) as Root;
  const { safe, finalized, ...marks } = root.marks;
  // JSON leaves out what is undefined.
  return { ...root, marks: { ...marks, safe, finalized } };
}
