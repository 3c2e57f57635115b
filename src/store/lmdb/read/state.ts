import type { StateKey } from '../../../chain/state-key.ts';
import type { StateEntry } from '../../interface.ts';
import { numberKey, samePrefix, slotSubject, versionKey, versionNumber } from '../keys.ts';
import type { Table, Tables } from '../tables.ts';

const empty = new Uint8Array(0);
const rowsPerPage = 2048;

/** Values of `keys` at block `number`; in a `partial` store a key without a version is unknown. */
export function readState(
  tables: Tables,
  keys: readonly StateKey[],
  number: number,
  partial: boolean,
): (Uint8Array | undefined)[] {
  const absent = partial ? undefined : empty;
  const wipes = new WipeLookup(tables, number);
  return keys.map((key) => {
    switch (key.kind) {
      case 'account':
        return seekVersion(tables.accounts, key.address, number)?.value ?? absent;
      case 'slot':
        return readSlot(tables, wipes, key, number) ?? absent;
      case 'code':
        return tables.code.getBinary(key.hash) ?? absent;
      case 'blockHash':
        return key.number > number ? absent : readHash(tables, numberKey(key.number));
    }
  });
}

/** A hash of the chain's past; those below the lowest block are known as far as they were kept or pinned. */
function readHash(tables: Tables, number: Uint8Array): Uint8Array | undefined {
  return tables.canonical.getBinary(number) ?? tables.hashes.getBinary(number);
}

function readSlot(
  tables: Tables,
  wipes: WipeLookup,
  key: { readonly address: Uint8Array; readonly slot: Uint8Array },
  number: number,
): Uint8Array | undefined {
  const version = seekVersion(tables.slots, slotSubject(key.address, key.slot), number);
  const wiped = wipes.last(key.address);
  if (wiped === undefined) return version?.value;
  // A slot written by the block that wiped the account was written after the wipe.
  return version !== undefined && version.number >= wiped ? version.value : empty;
}

interface Version {
  readonly number: number;
  readonly value: Uint8Array;
}

/** The newest version of `subject` at or before block `number`: one ordered seek. */
export function seekVersion(table: Table, subject: Uint8Array, number: number): Version | undefined {
  for (const { key, value } of table.getRange({ start: versionKey(subject, number), limit: 1 })) {
    if (samePrefix(key, subject, subject.length)) return { number: versionNumber(key), value };
  }
  return undefined;
}

/** The last wipe of an account at or before a block; remembers the last account asked for. */
export class WipeLookup {
  readonly #tables: Tables;
  readonly #number: number;
  #address: Uint8Array | undefined;
  #wiped: number | undefined;

  constructor(tables: Tables, number: number) {
    this.#tables = tables;
    this.#number = number;
  }

  last(address: Uint8Array): number | undefined {
    if (this.#address === undefined || !samePrefix(this.#address, address, 20)) {
      this.#address = address;
      this.#wiped = seekVersion(this.#tables.wipes, address, this.#number)?.number;
    }
    return this.#wiped;
  }
}

/**
 * Existing accounts and slots at block `number` in order of address, an account before its slots. Reads a page per
 * snapshot, since a scan may take minutes and an open snapshot keeps old pages from reuse: versions up to `number`
 * never change while it is canonical, and `stillCanonical` throws when it is not.
 */
export function* scanEntries(
  tables: Tables,
  number: number,
  stillCanonical: () => void,
): Generator<StateEntry> {
  const accounts = scanTable(tables.accounts, 20, number, stillCanonical);
  const slots = scanTable(tables.slots, 52, number, stillCanonical);
  const wipes = new WipeLookup(tables, number);
  let account = accounts.next();
  let slot = slots.next();
  while (account.done !== true || slot.done !== true) {
    const slotFirst =
      account.done === true ||
      (slot.done !== true &&
        Buffer.compare(slot.value.subject.subarray(0, 20), account.value.subject.subarray(0, 20)) < 0);
    if (!slotFirst && account.done !== true) {
      const { subject, value } = account.value;
      if (value.length > 0) yield { kind: 'account', address: subject, value };
      account = accounts.next();
    } else if (slot.done !== true) {
      const { subject, value, number: written } = slot.value;
      const address = subject.subarray(0, 20);
      if (value.length > 0 && written >= (wipes.last(address) ?? 0)) {
        yield { kind: 'slot', address, slot: subject.subarray(20), value };
      }
      slot = slots.next();
    }
  }
}

function* scanTable(
  table: Table,
  subjectBytes: number,
  number: number,
  stillCanonical: () => void,
): Generator<Version & { readonly subject: Uint8Array }> {
  let start: Uint8Array = new Uint8Array(1);
  let subject: Uint8Array | undefined;
  for (;;) {
    stillCanonical();
    const page = [...table.getRange({ start, limit: rowsPerPage })];
    for (const { key, value } of page) {
      const written = versionNumber(key);
      if (written > number || (subject !== undefined && samePrefix(subject, key, subjectBytes))) continue;
      subject = key.subarray(0, subjectBytes);
      yield { subject, value, number: written };
    }
    const last = page.at(-1);
    if (page.length < rowsPerPage || last === undefined) return;
    start = Buffer.concat([last.key, new Uint8Array(1)]);
  }
}
