import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { StateKey } from '../../chain/state-key.ts';
import type { Hex } from '../../primitives/hex.ts';
import { type DiffEntry, DiffIndex } from '../diff-index.ts';
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

/** A block in memory, and what it is searched by. */
class Held {
  readonly outcome: Outcome;
  readonly writes: DiffIndex;
  #places: ReadonlyMap<string, number> | undefined;

  constructor(outcome: Outcome) {
    this.outcome = outcome;
    this.writes = new DiffIndex(outcome.diffBytes);
  }

  /** The index of a transaction in it. */
  place(name: string): number | undefined {
    // Not before somebody asks: receipts are read for it.
    this.#places ??= new Map(
      this.outcome.receipts.map(({ transactionHash }, index) => [latin1(transactionHash), index]),
    );
    return this.#places.get(name);
  }
}

/** The blocks above those that are indexed, in memory: found by all that a store is asked by. */
export class Tail {
  #held: readonly Held[] = [];
  readonly #byHash = new Map<Hex, Outcome>();

  get length(): number {
    return this.#held.length;
  }

  /** The blocks, ascending. */
  get blocks(): readonly Outcome[] {
    return this.#held.map(({ outcome }) => outcome);
  }

  at(number: number): Outcome | undefined {
    return this.#held[this.#placeOf(number)]?.outcome;
  }

  find(hash: Hex): Outcome | undefined {
    return this.#byHash.get(hash);
  }

  transaction(transactionHash: Uint8Array): TransactionPlace | undefined {
    const name = latin1(transactionHash);
    return this.#newest(this.length - 1, (held) => {
      const index = held.place(name);
      const { number, hash } = held.outcome;
      return index === undefined ? undefined : { number, hash, index };
    });
  }

  /** The newest version of a subject at or before a block. */
  version(subject: Subject, number: number): Version | undefined {
    const [kind, key] = entryOf(subject);
    return this.#newest(Math.min(this.#placeOf(number), this.length - 1), ({ outcome, writes }) => {
      const value = writes.find(kind, key);
      return value && { number: outcome.number, value };
    });
  }

  /** Code that one of the blocks brought. */
  code(hash: Uint8Array): Uint8Array | undefined {
    return this.#newest(this.length - 1, ({ writes }) => writes.find('code', hash));
  }

  /** Every account and slot that one of the blocks wrote, as often as it was. */
  *subjects(): Generator<Subject, void, undefined> {
    for (const { outcome } of this.#held) for (const [subject] of writesOf(outcome)) yield subject;
  }

  /** Puts a block on top. */
  push(outcome: Outcome): void {
    this.#held = [...this.#held, new Held(outcome)];
    this.#byHash.set(outcome.hash, outcome);
  }

  /** Takes off every block above `number`. */
  revertTo(number: number): void {
    this.#keep((outcome) => outcome.number <= number);
  }

  /** Lets go of every block up to `number`: they are found elsewhere now. */
  dropTo(number: number): void {
    this.#keep((outcome) => outcome.number > number);
  }

  #keep(isKept: (outcome: Outcome) => boolean): void {
    for (const { outcome } of this.#held) if (!isKept(outcome)) this.#byHash.delete(outcome.hash);
    this.#held = this.#held.filter(({ outcome }) => isKept(outcome));
  }

  #placeOf(number: number): number {
    return number - (this.#held[0]?.outcome.number ?? number + 1);
  }

  /** What is found first, from a place in the list down. */
  #newest<T>(from: number, look: (held: Held) => T | undefined): T | undefined {
    for (let at = from; at >= 0; at--) {
      const held = this.#held[at];
      const found = held && look(held);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** How a subject is found in a diff. */
function entryOf(subject: Subject): readonly [kind: DiffEntry, key: Uint8Array] {
  const { address, slot } = subject;
  if (isWipe(subject)) return ['wiped', address];
  return slot.length === 0 ? ['account', address] : ['slot', Buffer.concat([address, slot])];
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

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
