// A store that began in the middle of a chain, with history below.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  quietModules,
  verifyOptions,
  type WorkDir,
  workDir,
} from '../../../test/support/follow/imported-chain.ts';
import { makePartialCopy } from '../../../test/support/follow/partial-copy.ts';
import {
  remove,
  spoil,
  truncate,
  verifyDamaged,
  wordsOf,
} from '../../../test/support/follow/verified-store.ts';
import { executeOfficialChain, HEAD } from '../../../test/support/serve/executor.ts';
import type { Outcome } from '../../chain/outcome.ts';
import type { StateKey } from '../../chain/state-key.ts';
import type { Pin } from '../../store/interface.ts';
import { blockKey, logChunkKey, numberKey, slotSubject, versionKey } from '../../store/lmdb/keys.ts';
import type { Table, Tables } from '../../store/lmdb/tables.ts';
import { verifyStore } from './verify.ts';

const LOWEST = 3;
const ANCHOR = 30;
const BELOW = 20;
const ABOVE = 42;
vi.setConfig({ testTimeout: 30_000, hookTimeout: 60_000 });

let outcomes: readonly Outcome[];
let sound: WorkDir;
/** What blocks above the anchor needed to be executed. */
const pins: Pin[] = [];

beforeAll(async () => {
  outcomes = await executeOfficialChain();
  sound = await workDir();
  pins.push(...(await makePartialCopy(sound.data, { lowest: LOWEST, anchor: ANCHOR })));
});
afterAll(() => sound[Symbol.asyncDispose]());

function outcome(number: number): Outcome {
  const found = outcomes[number];
  if (found === undefined) throw new Error(`there is no block ${number}`);
  return found;
}

const keyOf = (number: number): Buffer => blockKey(number, outcome(number).hash);

/** Where the first pin of a kind is stored. */
function pinRow(tables: Tables, kind: StateKey['kind'], at = 0): readonly [Table, Uint8Array] {
  const { key } = pins.filter((pin) => pin.key.kind === kind && pin.value.length > 0)[at] ?? {};
  if (key?.kind === 'account') return [tables.accounts, versionKey(key.address, ANCHOR)];
  if (key?.kind === 'slot') return [tables.slots, versionKey(slotSubject(key.address, key.slot), ANCHOR)];
  if (key?.kind === 'code') return [tables.code, key.hash];
  throw new Error(`nothing of kind ${kind} was pinned`);
}

/** The posting of a block below the anchor, in the bucket that it shares with others. */
function posting(tables: Tables): readonly [Table, Uint8Array] {
  for (const table of [tables.postings, tables.recent]) {
    for (const key of table.getKeys({ start: new Uint8Array(1) })) if (key[0] === 1) return [table, key];
  }
  throw new Error('there is no posting');
}

describe('verify of a partial copy', () => {
  it('passes on a sound store, and says that it did not check the state root', async () => {
    const { number, hash } = outcome(HEAD);
    const result = { verified: HEAD - LOWEST + 1, head: { number, hash }, rootChecked: false };
    expect(await verifyStore(verifyOptions(sound), quietModules())).toEqual(result);
  });

  const cases: readonly (readonly [string, RegExp, (tables: Tables) => void])[] = [
    ['a canonical hash below', /block 20/, (t) => spoil(t.canonical, numberKey(BELOW))],
    ['no canonical hash below', /block 20 is missing/, (t) => remove(t.canonical, numberKey(BELOW))],
    ['a number by hash below', /stored number/, (t) => spoil(t.numbers, keyOf(BELOW).subarray(6))],
    ['a header below', /block 20 .*stored header/, (t) => spoil(t.headers, keyOf(BELOW), 40)],
    ['no header below', /block 20 .*stored header/, (t) => remove(t.headers, keyOf(BELOW))],
    ['a block below', /block 20/, (t) => spoil(t.blocks, keyOf(BELOW), 100)],
    ['the last byte of a block below', /block 20/, (t) => spoil(t.blocks, keyOf(BELOW))],
    ['no block below', /block 20 is missing/, (t) => remove(t.blocks, keyOf(BELOW))],
    ['a receipt below', /block 20/, (t) => spoil(t.receipts, keyOf(BELOW), 10)],
    ['receipts below that do not decode', /block 20/, (t) => truncate(t.receipts, keyOf(BELOW))],
    ['no receipts below', /block 20 .*stored receipts are missing/, (t) => remove(t.receipts, keyOf(BELOW))],
    ['a log below', /block 20/, (t) => spoil(t.logs, logChunkKey(BELOW, 0))],
    ['no logs below', /block 20/, (t) => remove(t.logs, logChunkKey(BELOW, 0))],
    ['a posting', /block \d+/, (t) => spoil(...posting(t))],
    ['no posting', /log index/, (t) => remove(...posting(t))],
    ['the block at the anchor', /block 30/, (t) => spoil(t.blocks, keyOf(ANCHOR))],
    ['a receipt above', /block 42 .*stored receipts/, (t) => spoil(t.receipts, keyOf(ABOVE), 10)],
    ['a log above', /block 42 .*stored logs/, (t) => spoil(t.logs, logChunkKey(ABOVE, 0))],
    ['a pinned account', /block \d+/, (t) => spoil(...pinRow(t, 'account'), 3)],
    ['no pinned account', /block 31 .*is not known here/, (t) => remove(...pinRow(t, 'account'))],
    ['no pinned slot', /block \d+ .*is not known here/, (t) => remove(...pinRow(t, 'slot'))],
    ['pinned code', /block/, (t) => spoil(...pinRow(t, 'code'))],
    ['no pinned code', /block/, (t) => remove(...pinRow(t, 'code'))],
    ['a version above', /stored state/, (t) => spoil(...writtenAbove(t))],
    ['no version above', /stored state/, (t) => remove(...writtenAbove(t))],
    [
      'a slot that no block wrote',
      /slot 0x0101/,
      (t) => t.slots.putSync(versionKey(slotSubject(Buffer.alloc(20, 1), Buffer.alloc(32, 1)), 40), ONE),
    ],
    ['a wipe that no block made', /block/, (t) => t.wipes.putSync(strayWipe(), Buffer.alloc(0))],
    ['rows above the head', /above the head 54/, (t) => t.canonical.putSync(numberKey(55), Buffer.alloc(32))],
  ];
  it.each(cases)('finds %s', async (_, words, damage) => {
    const error = await verifyDamaged(sound, damage);
    expect(error).toBeInstanceOf(Error);
    expect(wordsOf(error)).toMatch(words);
  });

  it('cannot tell state that made no difference to any block from right state', async () => {
    const unused = versionKey(Buffer.alloc(20, 7), ANCHOR);
    const account = (tables: Tables): Buffer => {
      const [table, key] = pinRow(tables, 'account');
      return Buffer.from(table.getBinary(key) ?? []);
    };
    const result = await verifyDamaged(sound, (t) => t.accounts.putSync(unused, account(t)));
    expect(result).toMatchObject({ rootChecked: false });
  });
});

const ONE = Buffer.from([9]);

function writtenAbove(tables: Tables): readonly [Table, Uint8Array] {
  const [address] = outcome(ABOVE).diff.accounts[0] ?? [new Uint8Array()];
  return [tables.accounts, versionKey(address, ABOVE)];
}

/** Of an account with a slot that blocks above read, at a block that did not write it. */
function strayWipe(): Buffer {
  const key = pins.find((pin) => pin.key.kind === 'slot' && pin.value.length > 0)?.key;
  if (key?.kind !== 'slot') throw new Error('no slot was pinned');
  const writes = ({ diff }: Outcome): boolean =>
    diff.slots.some(([address]) => Buffer.compare(address, key.address) === 0);
  const idle = outcomes.findIndex((block, number) => number > ANCHOR && !writes(block));
  return versionKey(key.address, idle);
}
