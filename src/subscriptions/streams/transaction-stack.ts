import type { BlockJson } from '../../head/block-json.ts';
import type { Hex } from '../../primitives/hex.ts';
import { BlockTransactions } from './block-transactions.ts';
import { type Change, HeldStack, type Run } from './held-stack.ts';
import type { Ledger, LedgerOptions, LedgerStep } from './ledger.ts';

export interface TransactionStackModules {
  readonly ledger: Pick<Ledger, 'standing' | 'position'>;
  readonly json: BlockJson;
}

/** The transactions up to `pending`, followed from when it is made. It costs comparing receipts: made for whoever asks. */
export class TransactionStack {
  readonly #modules: TransactionStackModules;
  readonly #stack: HeldStack<BlockTransactions>;

  constructor({ undoWindow }: LedgerOptions, modules: TransactionStackModules) {
    this.#modules = modules;
    this.#stack = new HeldStack({ undoWindow, common: BlockTransactions.common });
    // What stands already is nothing new, and nobody was told of it.
    this.move({ added: [], removed: [] });
  }

  /** What an event takes back and adds. */
  move({ added, removed }: Pick<LedgerStep, 'added' | 'removed'>): Change<BlockTransactions> {
    const { ledger, json } = this.#modules;
    const { change } = this.#stack.move(ledger.position, {
      removed: removed.map((block) => BlockTransactions.removed(block)),
      added: added.map(({ block }) => ({
        block: BlockTransactions.confirmed(block, json),
        hash: block.hash,
      })),
      stands: ledger.standing.map((block) => ({
        block: BlockTransactions.preconfirmed(block, json),
        hash: block.hashSoFar,
      })),
    });
    return change;
  }
}

/** Hashes of transactions that came, but for those that only changed their place. */
export function newHashes({ removed, added }: Change<BlockTransactions>): readonly Hex[] {
  const gone = new Set(removed.flatMap((run) => indexesOf(run).map((index) => run.block.hash(index))));
  const come = added.flatMap((run) => indexesOf(run).map((index) => run.block.hash(index)));
  return come.filter((hash) => !gone.has(hash));
}

/** The indexes of a run, ascending. */
export function indexesOf({ block, first, end }: Run<BlockTransactions>): number[] {
  const count = Math.max(0, Math.min(end, block.length) - first);
  return Array.from({ length: count }, (_, at) => first + at);
}
