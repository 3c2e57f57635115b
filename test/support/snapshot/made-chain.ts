// Snapshots of made-up chains: whatever a store can hold, with nothing in it that a header could prove.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Outcome } from '../../../src/chain/outcome.ts';
import type { StateKey } from '../../../src/chain/state-key.ts';
import {
  type Exported,
  type ExportModules,
  exportSnapshot,
} from '../../../src/maintenance/snapshot/export.ts';
import { SnapshotFolder } from '../../../src/maintenance/snapshot/folder.ts';
import {
  manifestIn,
  type Prover,
  type RestoreModules,
  restoreSnapshot,
} from '../../../src/maintenance/snapshot/restore.ts';
import { type Hex, toHex } from '../../../src/primitives/hex.ts';
import type { Store, StoreReader } from '../../../src/store/interface.ts';
import { address, codeOf, word } from '../store/contract-chain.ts';
import { bytes, describeChain } from '../store/contract-observe.ts';

/** Believes all of it. */
export const TRUSTING: Prover = { block: (outcome) => outcome, code: () => {}, state: async () => {} };

/** Which block each header is followed by: made-up ones do not say. */
export class Parents {
  readonly #byHeader = new Map<Hex, Hex>();

  add(outcomes: readonly Outcome[]): void {
    for (const { header, parentHash } of outcomes) this.#byHeader.set(toHex(header), parentHash);
  }

  readonly of = (header: Uint8Array): Hex => {
    const parent = this.#byHeader.get(toHex(header));
    if (parent === undefined) throw new Error('there is no such header');
    return parent;
  };
}

/** A folder that goes away at the end of its scope. */
export async function snapshotDir(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'chain-query-snapshot-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

const quiet = () => ({ signal: new AbortController().signal, onBlocks: () => {}, onKeys: () => {} });

/** Exports a store of made-up blocks. */
export function exportMade(
  store: StoreReader,
  path: string,
  parents: Parents,
  changes: Partial<ExportModules> = {},
): Promise<Exported> {
  const modules = { ...quiet(), store, parentHashOf: parents.of, chainId: '1', ...changes };
  return exportSnapshot({ ...modules, folder: new SnapshotFolder(path) });
}

/** Restores what is in the folder into a store. */
export async function restoreMade(
  path: string,
  store: Store,
  changes: Partial<RestoreModules> = {},
): Promise<void> {
  const folder = new SnapshotFolder(path);
  const manifest = await manifestIn(folder);
  await restoreSnapshot(manifest, { ...quiet(), folder, store, prover: TRUSTING, ...changes });
}

/** All answers of a store over made-up blocks: those of the contract, and each key at each block, unknown ones too. */
export async function answersOf(store: Store): Promise<unknown> {
  const marks = await store.marks();
  if (marks === undefined) return 'empty';
  const { anchor, lowest, head } = marks;
  const keys: StateKey[] = Array.from({ length: 6 }, (_, at) => address(at)).flatMap((owner): StateKey[] => [
    { kind: 'account', address: owner },
    ...Array.from({ length: 5 }, (_, slot) => ({ kind: 'slot', address: owner, slot: word(slot) }) as const),
  ]);
  for (let at = 0; at < 9; at++) keys.push({ kind: 'code', hash: codeOf(at)[0] });
  const states: unknown[] = [];
  for (let number = anchor.number; number <= head.number; number++) {
    const hashes = Array.from({ length: 3 }, (_, at) => lowest.number - 1 - at).filter((at) => at >= 0);
    const wanted = [...keys, ...hashes.map((at) => ({ kind: 'blockHash', number: at }) as const)];
    states.push((await store.loadState(wanted, number)).map(bytes));
  }
  const chain = await describeChain(store);
  return {
    ...{ chain, states, isComplete: await store.isComplete(), undoFloor: await store.undoFloor() },
    genesis: await store.getMeta('genesis'),
  };
}
