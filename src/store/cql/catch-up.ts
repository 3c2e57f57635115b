import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import type { Hex } from '../../primitives/hex.ts';
import { StoreError } from '../error.ts';
import { type Link, readLinks, readOutcome } from './bodies.ts';
import { copyOf, type Root } from './root.ts';
import type { Session } from './session.ts';
import type { View } from './view.ts';

/** Blocks whose rows are read at the same time. */
const BLOCKS_AT_ONCE = 16;
/** Numbers whose links are read together. */
const LINKS_AT_ONCE = 256;
/** Blocks that one movement has at most: whoever missed more begins anew. */
const MOST_MOVED = 2_048;

/** How a view came from one root row to another. */
export interface Movement {
  /** Blocks that were taken off, newest first. */
  readonly removed: readonly Outcome[];
  /** Blocks that were put on, ascending. */
  readonly added: readonly Outcome[];
  /** Another copy began, or too much was missed to say how this chain came from the last: nothing of what was told holds. */
  readonly isAnew: boolean;
}

/**
 * Has a view show a root row: reads those blocks that are not indexed and not in memory, then changes all in one turn. `offered` gives a
 * block that somebody told of and that is what the root row says, if there is one.
 */
export async function catchUp(
  session: Session,
  view: View,
  root: Root,
  offered: (hash: Hex) => Outcome | undefined = () => undefined,
): Promise<Movement> {
  const { tail, shown: before } = view;
  const isSameCopy = before?.copy === root.copy;
  const blocks = new Blocks(session, copyOf(root), (hash) =>
    isSameCopy ? (tail.find(hash) ?? offered(hash)) : offered(hash),
  );
  const moved = isSameCopy ? await findMove(blocks, before.marks.head, root.marks.head) : undefined;
  const removed = await blocks.read(moved?.removed ?? []);
  const added = await blocks.read(moved?.added ?? (await findAbove(blocks, root.marks.head, root.indexed)));
  // What was indexed and is not any more is held in memory again.
  const rest = moved === undefined ? [] : await heldAgain(blocks, view, root, added);
  if (moved === undefined) {
    if (before !== undefined) view.reverted(-1);
    tail.revertTo(-1);
  }
  const lowest = removed.at(-1);
  if (lowest !== undefined) {
    view.reverted(lowest.number - 1);
    tail.revertTo(lowest.number - 1);
  }
  view.show(root);
  for (const outcome of [...rest, ...added]) tail.push(outcome);
  tail.dropTo(root.indexed);
  return { removed, added, isAnew: moved === undefined };
}

/** Blocks below those that were put on which the tail has to have and lacks, ascending. */
async function heldAgain(
  blocks: Blocks,
  view: View,
  root: Root,
  added: readonly Outcome[],
): Promise<readonly Outcome[]> {
  const first = added[0];
  const [number, hash] =
    first === undefined
      ? [root.marks.head.number, root.marks.head.hash]
      : [first.number - 1, first.parentHash];
  if (number <= root.indexed || view.tail.find(hash) !== undefined) return [];
  return blocks.read(await findAbove(blocks, { number, hash }, root.indexed));
}

/** A block, or what tells of one. */
type Named = Link | Outcome;

/** Blocks by hash: from memory, else what is linked to each other. */
class Blocks {
  readonly #session: Session;
  readonly #copy: bigint;
  readonly #known: (hash: Hex) => Outcome | undefined;
  readonly #links = new Map<Hex, Link>();
  readonly #read = new Set<number>();

  constructor(session: Session, copy: bigint, known: (hash: Hex) => Outcome | undefined) {
    this.#session = session;
    this.#copy = copy;
    this.#known = known;
  }

  /** A block by number and hash; undefined where its link is gone. */
  async find({ number, hash }: BlockRef): Promise<Named | undefined> {
    const known = this.#known(hash);
    if (known !== undefined) return known;
    const window = Math.floor(number / LINKS_AT_ONCE);
    if (!this.#read.has(window)) {
      this.#read.add(window);
      const first = window * LINKS_AT_ONCE;
      const links = await readLinks(this.#session, this.#copy, first, first + LINKS_AT_ONCE - 1);
      for (const link of links) this.#links.set(link.hash, link);
    }
    return this.#links.get(hash);
  }

  /** Whole blocks. */
  async read(named: readonly Named[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (let at = 0; at < named.length; at += BLOCKS_AT_ONCE) {
      const some = named.slice(at, at + BLOCKS_AT_ONCE);
      const whole = some.map(async (block) =>
        'header' in block ? block : readOutcome(this.#session, this.#copy, block),
      );
      outcomes.push(...(await Promise.all(whole)));
    }
    return outcomes;
  }
}

/** How to get from one head to another, by where their chains meet; undefined where that is too far or not known any more. */
async function findMove(
  blocks: Blocks,
  from: BlockRef,
  to: BlockRef,
): Promise<{ readonly removed: readonly Named[]; readonly added: readonly Named[] } | undefined> {
  const removed: Named[] = [];
  const added: Named[] = [];
  let [old, next]: readonly [BlockRef, BlockRef] = [from, to];
  while (old.hash !== next.hash) {
    if (removed.length + added.length >= MOST_MOVED) return undefined;
    const isOld = old.number > next.number;
    const block = await blocks.find(isOld ? old : next);
    if (block === undefined) return undefined;
    const parent = { number: block.number - 1, hash: block.parentHash };
    if (isOld) {
      removed.push(block);
      old = parent;
    } else {
      added.unshift(block);
      next = parent;
    }
  }
  return { removed, added };
}

/** The blocks above a number, up to a head, ascending. */
async function findAbove(blocks: Blocks, head: BlockRef, above: number): Promise<Named[]> {
  const chain: Named[] = [];
  for (let at = head; at.number > above; ) {
    const block = await blocks.find(at);
    if (block?.number !== at.number)
      throw new StoreError('corrupt', `block ${at.number} ${at.hash} is not linked`);
    chain.unshift(block);
    at = { number: block.number - 1, hash: block.parentHash };
  }
  return chain;
}
