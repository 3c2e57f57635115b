import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { StateKey } from '../../chain/state-key.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { BlockLogs, TransactionPlace } from '../interface.ts';

/** A value and the block that wrote it. */
export interface Version {
  readonly number: number;
  readonly value: Uint8Array;
}

/** What state is kept by: an account, a slot of it, or that it was wiped. */
export interface Subject {
  readonly address: Uint8Array;
  /** Empty for the account itself. */
  readonly slot: Uint8Array;
}

const NOTHING = new Uint8Array(0);
/** Stands where a slot does: no slot is this short. */
const WIPE = Uint8Array.of(0x77);

/** The subject of an account. */
export function accountSubject(address: Uint8Array): Subject {
  return { address, slot: NOTHING };
}

/** The subject of the wipes of an account. */
export function wipeSubject(address: Uint8Array): Subject {
  return { address, slot: WIPE };
}

/** Whether a subject is that of the wipes of an account. */
export function isWipe({ slot }: Subject): boolean {
  return slot.length === WIPE.length;
}

/** Everything that a block wrote, wipes too. */
export function writesOf({ diff }: Pick<Outcome, 'diff'>): (readonly [Subject, Uint8Array])[] {
  return [
    ...diff.wiped.map((address) => [wipeSubject(address), NOTHING] as const),
    ...diff.accounts.map(([address, value]) => [accountSubject(address), value] as const),
    ...diff.slots.map(([address, slot, value]) => [{ address, slot }, value] as const),
  ];
}

/** A subject as the key of a map. */
export function subjectText({ address, slot }: Subject): string {
  return latin1(address) + latin1(slot);
}

/** The blocks above those that are indexed, in memory: found by all that a store is asked by. */
export class Tail {
  #blocks: Outcome[] = [];
  readonly #byHash = new Map<Hex, Outcome>();
  readonly #places = new Map<string, TransactionPlace>();
  readonly #versions = new Map<string, Version[]>();
  readonly #subjects = new Map<string, Subject>();
  readonly #codes = new Map<string, Version[]>();

  get length(): number {
    return this.#blocks.length;
  }

  /** The blocks, ascending: a list that nobody changes. */
  get blocks(): readonly Outcome[] {
    return this.#blocks;
  }

  at(number: number): Outcome | undefined {
    const first = this.#blocks[0];
    return first === undefined ? undefined : this.#blocks[number - first.number];
  }

  find(hash: Hex): Outcome | undefined {
    return this.#byHash.get(hash);
  }

  transaction(hash: Uint8Array): TransactionPlace | undefined {
    return this.#places.get(latin1(hash));
  }

  /** The newest version of a subject at or before a block. */
  version(subject: Subject, number: number): Version | undefined {
    return this.#versions.get(subjectText(subject))?.findLast((version) => version.number <= number);
  }

  /** Code that one of the blocks brought. */
  code(hash: Uint8Array): Uint8Array | undefined {
    return this.#codes.get(latin1(hash))?.[0]?.value;
  }

  /** Every account and slot that one of the blocks wrote. */
  subjects(): Iterable<Subject> {
    return this.#subjects.values();
  }

  /** Puts a block on top. */
  push(outcome: Outcome): void {
    const { number, hash } = outcome;
    this.#blocks = [...this.#blocks, outcome];
    this.#byHash.set(hash, outcome);
    for (const [index, { transactionHash }] of outcome.receipts.entries())
      this.#places.set(latin1(transactionHash), { number, hash, index });
    for (const [subject, value] of writesOf(outcome)) {
      const text = subjectText(subject);
      add(this.#versions, text, { number, value });
      this.#subjects.set(text, subject);
    }
    for (const [name, value] of outcome.diff.codes) add(this.#codes, latin1(name), { number, value });
  }

  /** Takes off every block above `number`. */
  revertTo(number: number): void {
    for (const block of this.#blocks.filter((outcome) => outcome.number > number).toReversed())
      this.#forget(block);
    this.#blocks = this.#blocks.filter((outcome) => outcome.number <= number);
  }

  /** Lets go of every block up to `number`: they are found elsewhere now. */
  dropTo(number: number): void {
    for (const block of this.#blocks.filter((outcome) => outcome.number <= number)) this.#forget(block);
    this.#blocks = this.#blocks.filter((outcome) => outcome.number > number);
  }

  #forget(outcome: Outcome): void {
    const { number, hash } = outcome;
    this.#byHash.delete(hash);
    for (const { transactionHash } of outcome.receipts) {
      const text = latin1(transactionHash);
      if (this.#places.get(text)?.number === number) this.#places.delete(text);
    }
    for (const [subject] of writesOf(outcome)) {
      const text = subjectText(subject);
      if (remove(this.#versions, text, number)) this.#subjects.delete(text);
    }
    for (const [name] of outcome.diff.codes) remove(this.#codes, latin1(name), number);
  }
}

/** The logs of a block that is held whole. */
export function logsOf(outcome: Outcome): BlockLogs {
  const { number, hash, timestamp, timestampMs, logs, receipts } = outcome;
  return {
    ...{ number, hash, timestamp, timestampMs },
    length: logs.length,
    log: (index) => listed(logs[index], `log ${index} of block ${number}`),
    transactionHash: (index) =>
      listed(receipts[index], `transaction ${index} of block ${number}`).transactionHash,
  };
}

/** The name of a block. */
export function refOf({ number, hash }: BlockRef): BlockRef {
  return { number, hash };
}

/** A subject that a state key names. */
export function subjectOf(key: Extract<StateKey, { kind: 'account' | 'slot' }>): Subject {
  return key.kind === 'slot' ? key : accountSubject(key.address);
}

function listed<T>(item: T | undefined, what: string): T {
  if (item === undefined) throw new RangeError(`there is no ${what}`);
  return item;
}

function add(versions: Map<string, Version[]>, text: string, version: Version): void {
  const list = versions.get(text);
  if (list === undefined) versions.set(text, [version]);
  else list.push(version);
}

/** Removes the versions of a block; whether none is left. */
function remove(versions: Map<string, Version[]>, text: string, number: number): boolean {
  const left = versions.get(text)?.filter((version) => version.number !== number) ?? [];
  if (left.length === 0) versions.delete(text);
  else versions.set(text, left);
  return left.length === 0;
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
