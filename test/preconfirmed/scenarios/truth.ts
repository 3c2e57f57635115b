import type { Hex } from 'viem';
import type { BuiltFlashblock } from '../../support/flashblocks/builder.ts';
import type { SequencedBlock } from '../../support/servers/op-sequencer.ts';
import type { Named } from '../comparison.ts';
import type { Moment } from '../rig.ts';
import type { Linked } from './scene.ts';

/** A block after one flashblock that our node may show. */
interface Shown {
  readonly number: number;
  readonly index: number;
  readonly hash: Hex;
  readonly parent: Hex;
  /** Counts attempts at blocks, over the whole test. */
  readonly attempt: number;
  readonly built: BuiltFlashblock;
}

/** A flashblock that may stand on less, or on other contents, than its block below ends with. */
export interface AsReceived {
  /** What was received of the block below. */
  readonly below: SequencedBlock;
  readonly built: BuiltFlashblock;
}

/** A state that an answer may be of. */
export interface Candidate {
  readonly moment: Moment;
  /** Of the newest pre-confirmed block. */
  readonly attempt: number | undefined;
  /** Set where the newest of the stack has to be built first, as the chain was received; its hash is another then. */
  readonly received?: AsReceived;
}

/** Names are of this form, and `none` is another. */
const named = /^(\d+);(\w+)$/;
/** Of confirmed blocks and of flashblocks: far more than one run has. */
const kept = 4_096;

/** What there is to know, as far as it was told: every answer of our node has to be of one of these states. */
export class Truth {
  readonly #confirmed = new Map<Hex, Linked>();
  readonly #byName = new Map<string, readonly Shown[]>();
  readonly #byHash = new Map<Hex, Shown>();
  readonly isHashless: boolean;

  /** Without hashes, a block begins on whatever was received of the one below. */
  constructor(isHashless = false) {
    this.isHashless = isHashless;
  }

  /** From now on this block may be the head. */
  confirm(linked: Linked): void {
    this.#confirmed.set(linked.block.hash, linked);
    forgetOldest(this.#confirmed);
  }

  /** From now on our node may show this flashblock. */
  show(built: BuiltFlashblock, attempt: number): void {
    const { message, payload } = built;
    const { blockHash: hash, parentHash: parent } = payload;
    const { index } = message;
    const number = Number(payload.blockNumber);
    const shown = { number, index, hash, parent, attempt, built };
    const name = `${number};${index}`;
    this.#byName.set(name, [...(this.#byName.get(name) ?? []), shown]);
    this.#byHash.set(hash, shown);
    forgetOldest(this.#byName);
    forgetOldest(this.#byHash);
  }

  /** The states that an answer with these names can be of, or what is wrong with the names. */
  candidates({ head: headName, pending }: Named): readonly Candidate[] | string {
    const [, , hash] = named.exec(headName) ?? [];
    const head = this.#confirmed.get(hash as Hex)?.block;
    if (head === undefined || headName !== `${head.number};${head.hash}`)
      return 'the head was never confirmed';
    if (pending === 'none') return [{ moment: { head, stack: [] }, attempt: undefined }];
    const number = Number(named.exec(pending)?.[1]);
    if (!(number > head.number)) return 'pending is older than latest';
    const all = this.#byName.get(pending) ?? [];
    const exact = all.flatMap((shown): readonly Candidate[] => {
      const stack = this.#stack(shown, head);
      return stack === undefined ? [] : [{ moment: { head, stack }, attempt: shown.attempt }];
    });
    const found = this.isHashless
      ? [...exact, ...all.flatMap((shown) => this.#received(shown, head))]
      : exact;
    return found.length > 0 ? found : 'no such flashblock was ever there on this head';
  }

  /** Confirmed blocks from a number on through the head, ascending. */
  chain(head: SequencedBlock, from: number): readonly Hex[] {
    const hashes: Hex[] = [];
    for (let at = this.#confirmed.get(head.hash); at !== undefined && at.block.number >= from; ) {
      hashes.unshift(at.block.hash);
      at = this.#confirmed.get(at.parent);
    }
    if (hashes.length !== head.number - from + 1) throw new Error(`block ${from} is forgotten`);
    return hashes;
  }

  /** A flashblock on each flashblock of the block below that is not its parent. */
  #received(shown: Shown, head: SequencedBlock): readonly Candidate[] {
    const { number, attempt, built } = shown;
    const below = [...this.#byHash.values()].filter(
      (other) => other.number === number - 1 && other.hash !== shown.parent,
    );
    return below.flatMap((other): readonly Candidate[] => {
      const stack = this.#stack(other, head);
      if (stack === undefined) return [];
      const timestamp = Number(other.built.payload.timestamp);
      const received = { below: { hash: other.hash, number: other.number, timestamp }, built };
      return [{ moment: { head, stack: [...stack, shown] }, attempt, received }];
    });
  }

  /** From the block above the head on; undefined when it does not stand on it. */
  #stack(newest: Shown, head: SequencedBlock): Moment['stack'] | undefined {
    const stack: Shown[] = [];
    for (let at: Shown | undefined = newest; at !== undefined; at = this.#byHash.get(at.parent)) {
      stack.unshift(at);
      if (at.parent === head.hash) return stack;
    }
    return undefined;
  }
}

function forgetOldest(map: Map<unknown, unknown>): void {
  const oldest = map.keys().next().value;
  if (map.size > kept) map.delete(oldest);
}
