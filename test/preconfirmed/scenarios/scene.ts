import { type Hex, keccak256, toHex } from 'viem';
import {
  type BlockPlan,
  type BuiltFlashblock,
  cutIntoParts,
  FlashblockBuilder,
} from '../../support/flashblocks/builder.ts';
import type { Random } from '../../support/random.ts';
import type { OpSequencer, SequencedBlock } from '../../support/servers/op-sequencer.ts';
import type { Workload } from '../../support/workload/workload.ts';
import type { ActScript } from './script.ts';

/** A block with the one it stands on. */
export interface Linked {
  readonly block: SequencedBlock;
  readonly parent: Hex;
}

/** One block, built; nobody knows of it yet. */
export interface Act {
  readonly script: ActScript;
  /** Attempts at it, each from index 0 on; all but the last end early. */
  readonly attempts: readonly (readonly BuiltFlashblock[])[];
  /** What becomes canonical in the end, ascending: the last is the head then. */
  readonly end: readonly Linked[];
  /** Index 0 of a block on top of it whose parent is never told of. */
  readonly orphan: BuiltFlashblock | undefined;
}

/** A block of the chain, with what is needed to make another in its place. */
interface Past extends Linked {
  readonly below: SequencedBlock;
  readonly plan: BlockPlan;
}

const pastKept = 8;
/** Above what any block here would have: the base fee does not depend on how much of the parent was received. */
const steadyBaseFee = 1_000_000_000;

/** Builds the acts of a run, ahead of what is shown of them: op-geth holds all partial blocks. */
export class Stage {
  readonly #sequencer: OpSequencer;
  readonly #builder: FlashblockBuilder;
  readonly #workload: Workload;
  readonly #common: Pick<BlockPlan, 'minBaseFee'>;
  readonly #past: Past[] = [];
  #tip: SequencedBlock;
  /** The last block as flashblocks showed it, if it ended otherwise. */
  #unsealed: SequencedBlock | undefined;
  #made = 0;

  /** With a steady base fee, a block can be built the same on less of its parent than there is. */
  constructor(sequencer: OpSequencer, workload: Workload, isSteady = false) {
    this.#sequencer = sequencer;
    this.#builder = new FlashblockBuilder(sequencer);
    this.#workload = workload;
    this.#common = isSteady ? { minBaseFee: steadyBaseFee } : {};
    this.#tip = sequencer.head;
  }

  /** What the next act stands on. */
  get tip(): SequencedBlock {
    return this.#tip;
  }

  async build(script: ActScript, random: Random): Promise<Act> {
    const parent = this.#tip;
    const { deposits, transactions } = await this.#workload.next(script.actions);
    this.#made += 1;
    const plan: BlockPlan = {
      ...this.#common,
      deposits,
      parts: cutIntoParts(transactions, script.parts),
      prevRandao: this.#randao(),
      feeRecipient: random.hex(20) as Hex,
      gasLimit: BigInt(random.pick([150, 180, 200]) * 1_000_000),
    };
    const attempts: (readonly BuiltFlashblock[])[] = [];
    // The builder goes on from its own block, before it hears that another one was sealed.
    if (script.early && !script.onSealed && this.#unsealed !== undefined)
      attempts.push(await this.#attempt(this.#unsealed, { ...plan, parts: [[]] }, 0, 2));
    if (script.rebuildAfter !== undefined)
      attempts.push(await this.#attempt(parent, plan, 0, script.rebuildAfter));
    const whole = await this.#attempt(parent, plan, attempts.length, Number.POSITIVE_INFINITY);
    attempts.push(whole);
    const orphan = script.orphan ? await this.#orphan(parent) : undefined;
    const shown = lastOf(whole);
    const ends = await this.#end(script, parent, plan, shown);
    this.#past.push(...ends);
    this.#past.splice(0, this.#past.length - pastKept);
    const last = ends.at(-1);
    if (last === undefined) throw new Error('a block ends as one block at least');
    this.#tip = last.block;
    this.#unsealed = last.block.hash === shown.hash ? undefined : shown;
    const end = ends.map(({ block, parent: below }) => ({ block, parent: below }));
    return { script, attempts, end, orphan };
  }

  async #attempt(
    parent: SequencedBlock,
    plan: BlockPlan,
    attempt: number,
    count: number,
  ): Promise<readonly BuiltFlashblock[]> {
    const built: BuiltFlashblock[] = [];
    for await (const flashblock of this.#builder.build(parent, { ...plan, attempt })) {
      built.push(flashblock);
      if (built.length >= count) break;
    }
    return built;
  }

  async #end(
    { end }: ActScript,
    parent: SequencedBlock,
    plan: BlockPlan,
    shown: SequencedBlock,
  ): Promise<readonly Past[]> {
    if (end === 'other') return [await this.#another(parent, plan, plan.parts.slice(0, -1).flat())];
    if (end === 'sealed') return [{ block: shown, parent: parent.hash, below: parent, plan }];
    const replaced = this.#past.splice(-end.depth);
    let below = replaced[0]?.below;
    const branch: Past[] = [];
    for (let at = 0; at < end.length; at += 1) {
      if (below === undefined) throw new Error('there is nothing to take back');
      const old = replaced[at]?.plan;
      // The last one leaves some out, so that what was confirmed is not any more.
      const all = old?.parts.flat() ?? [];
      const kept = at + 1 < replaced.length ? all : all.slice(0, all.length >> 1);
      const made = await this.#another(below, old ?? { parts: [] }, kept);
      branch.push(made);
      below = made.block;
    }
    return branch;
  }

  async #orphan(parent: SequencedBlock): Promise<BuiltFlashblock | undefined> {
    const { block } = await this.#another(parent, { parts: [] }, []);
    return (await this.#attempt(block, { ...this.#common, parts: [] }, 0, 1))[0];
  }

  /** A block like the planned one, with only these transactions and a randao of its own. */
  async #another(below: SequencedBlock, plan: BlockPlan, transactions: readonly Hex[]): Promise<Past> {
    const { parts: _parts, attempt: _attempt, ...rest } = plan;
    this.#made += 1;
    const inputs = { ...this.#common, ...rest, transactions, prevRandao: this.#randao() };
    const block = await this.#sequencer.insert(await this.#sequencer.build(below, inputs));
    return { block, parent: below.hash, below, plan: { ...rest, parts: [transactions] } };
  }

  #randao(): Hex {
    return keccak256(toHex(`randao ${this.#made} of ${this.#workload.seed}`));
  }
}

function lastOf(attempt: readonly BuiltFlashblock[]): SequencedBlock {
  const last = attempt.at(-1);
  if (last === undefined) throw new Error('a block has at least one flashblock');
  const { blockHash: hash, blockNumber, timestamp } = last.payload;
  return { hash, number: Number(blockNumber), timestamp: Number(timestamp) };
}
