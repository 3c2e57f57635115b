import { setTimeout as pause } from 'node:timers/promises';
import type { Hex } from 'viem';
import type { OpSequencer, SequencedBlock } from '../servers/op-sequencer.ts';
import { type BlockPlan, type BuiltFlashblock, FlashblockBuilder } from './builder.ts';

/** What a builder does wrong, or early, with one block. */
export interface BlockFaults {
  /** Publishes index 0 before the block below is sealed. A node of its own must build then, or it is canonical by that. */
  readonly early?: boolean;
  /** With `early`: how many flashblocks it has when the block below is sealed; one when left out. */
  readonly sealAfter?: number;
  /** Starts again with another payload id after this many flashblocks. */
  readonly rebuildAfter?: number;
  /** Another block is sealed than the last flashblock said: one without its last transactions. */
  readonly sealOther?: boolean;
}

export interface ProducerEvents {
  publish(built: BuiltFlashblock): void | Promise<void>;
  sealed?(block: SequencedBlock): void | Promise<void>;
}

/** Time between flashblocks of a real builder. */
export const FLASHBLOCK_MS = 200;

/** A chain whose blocks come in flashblocks. A block is sealed when the next one begins, as op-node does it. */
export class FlashblockProducer {
  private readonly sequencer: OpSequencer;
  private readonly builder: FlashblockBuilder;
  private readonly events: ProducerEvents;
  private readonly intervalMs: number;
  private open: { readonly tip: SequencedBlock; readonly seal: () => Promise<SequencedBlock> };

  /** Without an interval, as fast as op-geth builds. */
  constructor(sequencer: OpSequencer, events: ProducerEvents, intervalMs = 0) {
    this.sequencer = sequencer;
    this.builder = new FlashblockBuilder(sequencer);
    this.events = events;
    this.intervalMs = intervalMs;
    const tip = sequencer.head;
    this.open = { tip, seal: () => Promise.resolve(tip) };
  }

  /** What the next block stands on; op-geth answers for its hash, canonical or not. */
  get tip(): SequencedBlock {
    return this.open.tip;
  }

  async block(plan: BlockPlan, faults: BlockFaults = {}): Promise<void> {
    if (!faults.early) await this.seal();
    const parent = this.tip;
    const published: BuiltFlashblock[] = [];
    const attempts = faults.rebuildAfter === undefined ? [0] : [0, 1];
    for (const attempt of attempts) {
      const last = attempt === attempts.at(-1) ? Number.POSITIVE_INFINITY : (faults.rebuildAfter ?? 0);
      for await (const built of this.builder.build(parent, { ...plan, attempt })) {
        if (built.message.index >= last) break;
        if (published.length > 0) await pause(Math.max(0, this.intervalMs - built.ms));
        await this.events.publish(built);
        published.push(built);
        // Early: the block below is sealed only now that there is something on top of it.
        if (published.length === (faults.sealAfter ?? 1)) await this.seal();
      }
    }
    await this.seal();
    const whole = published.at(-1);
    if (whole === undefined) throw new Error('a block has at least one flashblock');
    const { blockHash, blockNumber, timestamp } = whole.payload;
    const tip = { hash: blockHash, number: Number(blockNumber), timestamp: Number(timestamp) };
    this.open = faults.sealOther
      ? await this.another(parent, plan)
      : { tip, seal: () => this.finish(tip.hash) };
  }

  /** Makes the last block canonical, if it is not. */
  async seal(): Promise<SequencedBlock> {
    const sealed = await this.open.seal();
    this.open = { tip: sealed, seal: () => Promise.resolve(sealed) };
    return sealed;
  }

  private async finish(hash: Hex): Promise<SequencedBlock> {
    const sealed = await this.sequencer.makeCanonical(hash);
    await this.events.sealed?.(sealed);
    return sealed;
  }

  private async another(parent: SequencedBlock, plan: BlockPlan): Promise<FlashblockProducer['open']> {
    const { parts, attempt: _, ...rest } = plan;
    const transactions = parts.slice(0, -1).flat();
    const inputs = { ...rest, transactions, prevRandao: parent.hash };
    const tip = await this.sequencer.insert(await this.sequencer.build(parent, inputs));
    return { tip, seal: () => this.finish(tip.hash) };
  }
}
