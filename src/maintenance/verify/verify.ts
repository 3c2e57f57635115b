import { accessSync } from 'node:fs';
import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { CommandOptions } from '../../config/table.ts';
import { NativeExecutor, readHeader } from '../../executor/native-executor.ts';
import { blockOptions } from '../../executor/options.ts';
import { rulesOfCopy } from '../../follow/rules/chain-rules.ts';
import { GENESIS_META } from '../../follow/rules/genesis.ts';
import { headerAt } from '../../store/canonical-header.ts';
import type { Marks, Store } from '../../store/interface.ts';
import { openLmdbStore } from '../../store/lmdb/index.ts';
import { storeLoader } from '../../store/state-loader.ts';
import type { ImportModules } from '../import/import.ts';
import { checkBlock, checkDiff, expect, VerificationError } from './block.ts';
import { ExpectedState } from './expected-state.ts';
import { receiptsAsJson } from './stored-receipts.ts';

export interface Verified {
  readonly verified: number;
  readonly head: BlockRef;
  /** False for a partial copy: what it never needed of the state it does not know. */
  readonly rootChecked: boolean;
}

/**
 * Compares all that a store would serve with what its blocks say: links, receipts, logs, the indexes of logs and transactions, every version
 * of every key that a block wrote, and the state root at the head.
 *
 * Blocks above the anchor, and the genesis block, are executed again; those below have no state, and their receipts
 * are proven by the root in their header. In a partial copy the state before the first block came from upstreams. A
 * wrong piece of it shows when a block that read it gives something else; one that made no difference to any block
 * cannot be told from a right one.
 */
export async function verifyStore(
  options: CommandOptions<'verify'>,
  modules: ImportModules,
): Promise<Verified> {
  const store = await openExisting(options);
  try {
    // Not damage: there is nothing that could be wrong.
    const nothing = new Error('the store holds no chain');
    const rules = await rulesOfCopy(store, nothing);
    const marks = await store.marks();
    if (marks === undefined) throw nothing;
    const executor = NativeExecutor.create(rules, blockOptions(options), { load: storeLoader(store) });
    return await new Verification(store, executor, marks).run(modules);
  } finally {
    await store.close();
  }
}

async function openExisting(options: CommandOptions<'verify'>): Promise<Store> {
  const { data: path, storeMapSize: mapSizeBytes } = options;
  try {
    // LMDB would make the folder before it finds that it is empty.
    accessSync(path);
    return await openLmdbStore({ path, mapSizeBytes, readOnly: true });
  } catch (cause) {
    throw new Error(`there is no store at ${path}: import a chain first`, { cause });
  }
}

class Verification {
  readonly #store: Store;
  readonly #executor: NativeExecutor;
  readonly #marks: Marks;
  #previous: BlockRef | undefined;
  #hasDiff = false;

  constructor(store: Store, executor: NativeExecutor, marks: Marks) {
    this.#store = store;
    this.#executor = executor;
    this.#marks = marks;
  }

  async run({ signal, onProgress }: ImportModules): Promise<Verified> {
    const { lowest, anchor, head } = this.#marks;
    const genesis = await this.#store.getMeta(GENESIS_META);
    const rootChecked = !(await isPartial(this.#store, anchor));
    const fromGenesis = rootChecked && anchor.number === 0 ? genesis : undefined;
    const state = new ExpectedState(fromGenesis === undefined ? anchor.number : undefined);
    const total = head.number - lowest.number + 1;
    let verified = 0;
    for (let number = lowest.number; number <= head.number; number++) {
      if (signal.aborted) break;
      try {
        await atBlock(number, () => this.#verify(number, fromGenesis, state, signal));
      } catch (error) {
        // The signal ends a block that is being executed.
        if (signal.aborted) break;
        throw error;
      }
      verified++;
      onProgress(verified, total);
    }
    if (verified < total) return { verified, head, rootChecked };
    await atBlock(head.number, async () => {
      if (rootChecked) await this.#checkRoot(state);
      else for await (const _ of state.compared(this.#store, head.number));
    });
    await this.#checkMarks();
    return { verified, head, rootChecked };
  }

  async #verify(
    number: number,
    genesis: string | undefined,
    state: ExpectedState,
    signal: AbortSignal,
  ): Promise<void> {
    const { anchor } = this.#marks;
    if (number > anchor.number) {
      const outcome = await this.#executor.execute(await blockAt(this.#store, number), undefined, signal);
      await this.#check(outcome);
      this.#hasDiff = await checkDiff(this.#store, outcome, this.#hasDiff);
      expect(outcome, 'state', await state.agrees(this.#store, outcome));
    } else if (genesis !== undefined) {
      const outcome = this.#executor.startAtGenesis(genesis);
      await this.#check(outcome);
      this.#hasDiff = await checkDiff(this.#store, outcome, this.#hasDiff);
      expect(outcome, 'state', await state.agrees(this.#store, outcome));
    } else {
      const outcome = await this.#prove(number);
      await this.#check(outcome);
      if (number === anchor.number) this.#executor.open(outcome.header);
    }
  }

  /** What a block gave, from its stored receipts, which its header must commit to. */
  async #prove(number: number): Promise<Outcome> {
    const block = await blockAt(this.#store, number);
    const { hash } = readHeader(block);
    const receipts = await this.#store.receipts({ number, hash });
    if (receipts === undefined) {
      throw new VerificationError(
        `block ${number} ${hash}: the stored receipts are missing, or of another block`,
      );
    }
    return this.#executor.outcomeFromJson(block, receiptsAsJson(receipts));
  }

  async #check(outcome: Outcome): Promise<void> {
    const previous = this.#previous;
    expect(outcome, 'parent', previous === undefined || outcome.parentHash === previous.hash);
    await checkBlock(this.#store, outcome);
    this.#previous = { number: outcome.number, hash: outcome.hash };
  }

  /** The whole state at the head. */
  async #checkRoot(state: ExpectedState): Promise<void> {
    const { number } = this.#marks.head;
    const root = await this.#executor.loadCommitment(state.compared(this.#store, number));
    const { stateRoot } = readHeader(await headerAt(this.#store, number));
    if (root === stateRoot) return;
    throw new VerificationError(
      `the state at block ${number} hashes to ${root}, its header says ${stateRoot}`,
    );
  }

  /** That each name leads to a block of the chain, and that a block which was not committed whole has left nothing. */
  async #checkMarks(): Promise<void> {
    const store = this.#store;
    for (const name of ['lowest', 'anchor', 'head', 'safe', 'finalized'] as const) {
      const ref = this.#marks[name];
      if (ref === undefined) continue;
      const { number, hash } = ref;
      if (number > this.#marks.head.number || (await store.canonicalHash(number)) !== hash) {
        throw new VerificationError(`the ${name} mark names block ${number} ${hash}, which is not canonical`);
      }
    }
    // Somebody may be following the chain meanwhile.
    const head = (await store.marks())?.head.number ?? 0;
    const hash = await store.canonicalHash(head + 1);
    const diff = await store.diffBytes(head + 1);
    if (hash !== undefined || diff !== undefined) {
      throw new VerificationError(`there are rows of block ${head + 1} above the head ${head}`);
    }
  }
}

/** Whether keys may be unknown: a complete store knows of code that it does not have that there is none. */
async function isPartial(store: Store, anchor: BlockRef): Promise<boolean> {
  const [nothing] = await store.loadState([{ kind: 'code', hash: new Uint8Array(32) }], anchor.number);
  return nothing === undefined;
}

/** Names the block at which anything went wrong: rows that cannot even be read are damage too. */
async function atBlock(number: number, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (error instanceof VerificationError) throw error;
    throw new VerificationError(`block ${number} does not verify`, { cause: error });
  }
}

async function blockAt(store: Store, number: number): Promise<Uint8Array> {
  const hash = await store.canonicalHash(number);
  const block = hash === undefined ? undefined : await store.block({ number, hash });
  if (block === undefined) throw new VerificationError(`block ${number} is missing`);
  return block;
}
