import { mkdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  importOptions,
  quietModules,
  verifyOptions,
  type WorkDir,
  workDir,
} from '../../../test/support/follow/imported-chain.ts';
import {
  remove,
  spoil,
  truncate,
  verifyDamaged,
  wordsOf,
} from '../../../test/support/follow/verified-store.ts';
import { executeOfficialChain } from '../../../test/support/serve/executor.ts';
import type { Outcome } from '../../chain/outcome.ts';
import { decodeReceipts, encodeReceipts } from '../../chain/receipt-codec.ts';
import {
  blockKey,
  logChunkKey,
  numberKey,
  slotSubject,
  transactionKey,
  versionKey,
} from '../../store/lmdb/keys.ts';
import { encodeMarks, readMarks } from '../../store/lmdb/meta.ts';
import type { Tables } from '../../store/lmdb/tables.ts';
import { importChain } from '../import/import.ts';
import { VerificationError } from './block.ts';
import { verifyStore } from './verify.ts';

const BLOCK = 42;
// Real stores on a disk that may be busy.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

let outcomes: readonly Outcome[];
let sound: WorkDir;
beforeAll(async () => {
  outcomes = await executeOfficialChain();
  sound = await workDir();
  await importChain(importOptions(sound), quietModules());
});
afterAll(() => sound[Symbol.asyncDispose]());

/** The block whose rows are damaged. */
function outcome(number = BLOCK): Outcome {
  const found = outcomes[number];
  if (found === undefined) throw new Error(`there is no block ${number}`);
  return found;
}

const keyOf = ({ number, hash }: Outcome): Buffer => blockKey(number, hash);
const firstSlot = ({ diff, number }: Outcome): Buffer => {
  const [address, slot] = diff.slots[0] ?? [new Uint8Array(), new Uint8Array()];
  return versionKey(slotSubject(address, slot), number);
};
const firstAccount = ({ diff, number }: Outcome): Buffer =>
  versionKey(diff.accounts[0]?.[0] ?? new Uint8Array(), number);

/** The row that leads to the first transaction of the block, or to that place of another one. */
function transactionKeyOf(number = BLOCK): Buffer {
  const [receipt] = outcome().receipts;
  if (receipt === undefined) throw new Error('there is no transaction');
  return transactionKey(receipt.transactionHash, number, 0);
}

/** The row of `recent` that leads to block `number`, for the address (0) or a topic (1 to 4). */
function postingKeyOf(tables: Tables, position: number, number = BLOCK): Uint8Array {
  for (const key of tables.recent.getKeys({ start: new Uint8Array(1) })) {
    if (key[0] === position && Buffer.compare(key.subarray(-6), numberKey(number)) === 0) return key;
  }
  throw new Error('there is no such posting');
}

describe('verify', () => {
  it('passes on a sound store', async () => {
    const { number, hash } = outcome(54);
    expect(await verifyDamaged(sound, () => {})).toEqual({
      verified: 55,
      head: { number, hash },
      rootChecked: true,
    });
  });

  const cases: readonly (readonly [string, RegExp, (tables: Tables) => void])[] = [
    ['a canonical hash', /block 42/, (t) => spoil(t.canonical, numberKey(BLOCK))],
    ['no canonical hash', /block 42 is missing/, (t) => remove(t.canonical, numberKey(BLOCK))],
    ['a number by hash', /stored number/, (t) => spoil(t.numbers, keyOf(outcome()).subarray(6))],
    ['no number by hash', /stored number/, (t) => remove(t.numbers, keyOf(outcome()).subarray(6))],
    ['a header', /stored header/, (t) => spoil(t.headers, keyOf(outcome()), 40)],
    ['no header', /stored header/, (t) => remove(t.headers, keyOf(outcome()))],
    ['a block', /block 42 does not verify/, (t) => spoil(t.blocks, keyOf(outcome()), 100)],
    ['no block', /block 42 is missing/, (t) => remove(t.blocks, keyOf(outcome()))],
    ['the genesis block', /block 0 .*stored block/, (t) => spoil(t.blocks, keyOf(outcome(0)), 100)],
    ['a receipt', /stored receipts/, (t) => spoil(t.receipts, keyOf(outcome()), 10)],
    [
      'receipts that do not decode',
      /block 42 does not verify/,
      (t) => truncate(t.receipts, keyOf(outcome())),
    ],
    ['a receipt less', /stored receipts/, (t) => dropReceipt(t)],
    ['no receipts', /stored receipts/, (t) => remove(t.receipts, keyOf(outcome()))],
    ['a log', /stored logs/, (t) => spoil(t.logs, logChunkKey(BLOCK, 0))],
    ['logs that do not decode', /block 42/, (t) => truncate(t.logs, logChunkKey(BLOCK, 0))],
    ['no logs', /block 42/, (t) => remove(t.logs, logChunkKey(BLOCK, 0))],
    ['no posting of an address', /log index/, (t) => remove(t.recent, postingKeyOf(t, 0))],
    ['no posting of a topic', /log index/, (t) => remove(t.recent, postingKeyOf(t, 1))],
    ['a posting', /block 42/, (t) => spoil(t.recent, postingKeyOf(t, 1))],
    ['no row of a transaction', /transaction index/, (t) => remove(t.transactions, transactionKeyOf())],
    [
      'a row of a transaction that leads elsewhere',
      /transaction index/,
      (t) => {
        remove(t.transactions, transactionKeyOf());
        t.transactions.putSync(transactionKeyOf(BLOCK - 1), Buffer.alloc(0));
      },
    ],
    ['a slot', /stored state/, (t) => spoil(t.slots, firstSlot(outcome()))],
    ['no version of a slot', /stored state/, (t) => remove(t.slots, firstSlot(outcome()))],
    ['an account', /stored state/, (t) => spoil(t.accounts, firstAccount(outcome()))],
    ['no version of an account', /stored state/, (t) => remove(t.accounts, firstAccount(outcome()))],
    [
      'a version that no block wrote',
      /stored state/,
      (t) => t.slots.putSync(strayVersion(), Buffer.from([9])),
    ],
    [
      'a slot that no block wrote',
      /block 54 .* slot /,
      (t) => t.slots.putSync(straySlot(), Buffer.from([9])),
    ],
    ['a wipe that no block made', /block/, (t) => t.wipes.putSync(strayWipe(), Buffer.alloc(0))],
    [
      'code',
      /stored state|malformed/,
      (t) => spoil(t.code, outcome(45).diff.codes[0]?.[0] ?? Buffer.alloc(0)),
    ],
    ['no code', /block/, (t) => remove(t.code, outcome(45).diff.codes[0]?.[0] ?? Buffer.alloc(0))],
    ['a state diff', /stored state diff/, (t) => spoil(t.diffs, numberKey(BLOCK))],
    ['a gap in the state diffs', /stored state diff/, (t) => remove(t.diffs, numberKey(BLOCK))],
    ['a mark', /safe mark/, (t) => spoilMark(t)],
    ['the genesis file', /genesis/, (t) => truncate(t.meta, Buffer.from('\u0002genesis'))],
    ['rows above the head', /above the head 54/, (t) => t.canonical.putSync(numberKey(55), Buffer.alloc(32))],
  ];
  it.each(cases)('finds %s', async (_, words, damage) => {
    const error = await verifyDamaged(sound, damage);
    expect(error).toBeInstanceOf(Error);
    expect(wordsOf(error)).toMatch(words);
  });

  it('says so when there is nothing to verify', async () => {
    await using dir = await workDir();
    await expect(verifyStore(verifyOptions(dir), quietModules())).rejects.toThrow('there is no store at');
    await mkdir(dir.data);
    await expect(verifyStore(verifyOptions(dir), quietModules())).rejects.toThrow('there is no store at');
  });

  it('stops when it is told to', async () => {
    const stop = new AbortController();
    const modules = quietModules({
      signal: stop.signal,
      onProgress: (done) => {
        if (done === 10) stop.abort();
      },
    });
    expect(await verifyStore(verifyOptions(sound), modules)).toMatchObject({ verified: 10 });
  });

  it('names the kind of its error', async () => {
    const error = await verifyDamaged(sound, (tables) => spoil(tables.receipts, keyOf(outcome()), 10));
    expect(error).toBeInstanceOf(VerificationError);
  });
});

function dropReceipt({ receipts }: Tables): void {
  const key = keyOf(outcome());
  receipts.putSync(key, encodeReceipts(decodeReceipts(receipts.getBinary(key) ?? new Uint8Array()).slice(1)));
}

/** Of a slot that was written before and is written again later, at a block that did not write it. */
function strayVersion(): Buffer {
  const slots = outcomes.map(
    ({ diff }) => new Map(diff.slots.map(([a, s]) => [`${a.join()} ${s.join()}`, [a, s]])),
  );
  for (const [key, [address, slot]] of slots[2] ?? new Map()) {
    const again = slots.findIndex((written, number) => number > 3 && written.has(key));
    if (again > 0 && slots[again - 1]?.has(key) === false) {
      return versionKey(slotSubject(address, slot), again - 1);
    }
  }
  throw new Error('no slot was written twice');
}

function straySlot(): Buffer {
  return versionKey(slotSubject(Buffer.alloc(20, 1), Buffer.alloc(32, 1)), BLOCK);
}

function strayWipe(): Buffer {
  return versionKey(outcome(2).diff.slots[0]?.[0] ?? new Uint8Array(), BLOCK);
}

function spoilMark(tables: Tables): void {
  const marks = readMarks(tables);
  if (marks === undefined) throw new Error('there are no marks');
  const safe = { number: BLOCK, hash: outcome(BLOCK - 1).hash };
  tables.meta.putSync(Buffer.from('\u0001marks'), encodeMarks({ ...marks, safe }));
}
