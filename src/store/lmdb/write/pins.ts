import type { BlockRef } from '../../../chain/outcome.ts';
import { StoreError } from '../../error.ts';
import type { Marks, Pin } from '../../interface.ts';
import { numberKey, slotSubject, versionKey } from '../keys.ts';
import { readMarks, readPartial } from '../meta.ts';
import { seekVersion } from '../read/state.ts';
import type { Table, Tables } from '../tables.ts';

const nothing = new Uint8Array(0);

/** Pins values as of `anchor`, which must be the anchor still. */
export function pinValues(tables: Tables, anchor: BlockRef, pins: readonly Pin[]): void {
  const marks = readMarks(tables);
  if (marks?.anchor.number !== anchor.number || marks.anchor.hash !== anchor.hash) {
    throw new StoreError('conflict', `block ${anchor.number} ${anchor.hash} is not the anchor`);
  }
  writePins(tables, marks, pins);
}

/** Writes what is not known yet as of the anchor. */
export function writePins(tables: Tables, marks: Marks, pins: readonly Pin[]): void {
  const partial = readPartial(tables);
  for (const pin of pins) {
    // A complete store lacks nothing but hashes of blocks that it does not hold.
    if (partial || pin.key.kind === 'blockHash') writePin(tables, marks, pin);
  }
}

function writePin(tables: Tables, { anchor, lowest }: Marks, { key, value }: Pin): void {
  switch (key.kind) {
    case 'account':
      pinVersion(tables.accounts, key.address, anchor.number, value);
      return;
    case 'slot':
      // The anchor's own block may have wiped the account: then its slots are known to be empty.
      if (seekVersion(tables.wipes, key.address, anchor.number) !== undefined) return;
      pinVersion(tables.slots, slotSubject(key.address, key.slot), anchor.number, value);
      return;
    case 'code':
      // Also for code that a block brought: that block may be reverted.
      tables.codePins.putSync(key.hash, nothing);
      putNew(tables.code, key.hash, value);
      return;
    case 'blockHash':
      if (key.number < lowest.number) putNew(tables.hashes, numberKey(key.number), value);
      return;
  }
}

function pinVersion(table: Table, subject: Uint8Array, anchor: number, value: Uint8Array): void {
  if (seekVersion(table, subject, anchor) === undefined) table.putSync(versionKey(subject, anchor), value);
}

function putNew(table: Table, key: Uint8Array, value: Uint8Array): void {
  if (!table.doesExist(key)) table.putSync(key, value);
}
