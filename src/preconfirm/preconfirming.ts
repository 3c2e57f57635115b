import type { BlockRef } from '../chain/outcome.ts';
import { isUnsupported, UnknownForkError } from '../executor/errors.ts';
import type { BlockLoader } from '../executor/executions.ts';
import type { NativeExecutor } from '../executor/native-executor.ts';
import type { PublishToFeed } from '../feed/interface.ts';
import { BlockReads } from '../follow/state/block-reads.ts';
import type { PinnedState } from '../follow/state/pinned-state.ts';
import { StateUnavailableError } from '../primitives/errors.ts';
import type { Hex } from '../primitives/hex.ts';
import type { RulesStop } from '../rules/row.ts';
import type { FlashblockEvent } from '../source/flashblocks/events.ts';
import type { Flashblock } from '../source/flashblocks/flashblock.ts';
import type { FlashblockSource } from '../source/flashblocks/flashblock-source.ts';
import type { ObservePreconfirming } from './events.ts';
import type { Accuracy } from './metrics.ts';

export interface PreconfirmingOptions {
  /** For executing one flashblock, with the loading of state. */
  readonly preconfirmedTimeoutMs: number;
}

export interface PreconfirmingModules {
  readonly executor: Pick<
    NativeExecutor,
    'executeFlashblock' | 'dropPreconfirmed' | 'preconfirmedPayloads' | 'sealedOtherwise'
  >;
  readonly source: Pick<FlashblockSource, 'events' | 'setHead' | 'refuse'>;
  readonly state: Pick<PinnedState, 'loadFor' | 'accept'>;
  readonly publish: PublishToFeed;
  readonly observe: ObservePreconfirming;
  readonly accuracy: Accuracy;
  /** From when on no block is executed, and why: the rules are not known (B16). */
  readonly stop?: () => RulesStop | undefined;
}

/** The number of the block that each payload is of. */
type BlocksByPayload = Map<Hex, number>;
type Told = Extract<FlashblockEvent, { readonly kind: 'flashblock' }>;

/**
 * Executes flashblocks as they come, each on the one before it, and tells everybody who serves the chain. One that is
 * not what it claims, or cannot be executed in time, ends its block: nothing is pre-confirmed until the next begins.
 */
export class Preconfirming {
  readonly #options: PreconfirmingOptions;
  readonly #modules: PreconfirmingModules;
  /** Payloads that were refused or lost: what is left of them in the queue is of no use until they are dropped there, too. */
  readonly #skipped: BlocksByPayload = new Map();
  /** Payloads that were executed, and are neither dropped nor sealed. */
  readonly #executed: BlocksByPayload = new Map();
  #executedAt: number | undefined;

  constructor(options: PreconfirmingOptions, modules: PreconfirmingModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Time since a flashblock was executed; undefined before the first one. */
  get ageMs(): number | undefined {
    return this.#executedAt === undefined ? undefined : performance.now() - this.#executedAt;
  }

  /** Says what flashblocks can be executed on, each time that changes, and what went because the head has other contents. */
  setHead(head: BlockRef): void {
    const { source, executor } = this.#modules;
    const standing: readonly string[] = this.#executed.size === 0 ? [] : executor.preconfirmedPayloads();
    const isLost = (payloadId: Hex, number: number): boolean =>
      number === head.number
        ? executor.sealedOtherwise === number
        : number > head.number && !standing.includes(payloadId);
    const lost = [...this.#executed].filter(([payloadId, number]) => isLost(payloadId, number));
    for (const [payloadId, number] of lost) {
      this.#executed.delete(payloadId);
      this.#skipped.set(payloadId, number);
    }
    for (const blocks of [this.#skipped, this.#executed]) forget(blocks, (number) => number <= head.number);
    source.setHead(
      head,
      lost.map(([payloadId]) => payloadId),
    );
  }

  /** Compares what was told of a block with what it was sealed as. */
  count(number: number, counts: Parameters<Accuracy['count']>[1]): void {
    this.#modules.accuracy.count(number, counts);
  }

  /** Listens until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { source, executor, publish, observe } = this.#modules;
    for await (const event of source.events(signal)) {
      switch (event.kind) {
        case 'flashblock':
          if (!this.#skipped.has(event.flashblock.payloadId)) await this.#execute(event, signal);
          break;
        case 'dropped': {
          const version = executor.dropPreconfirmed(event.from);
          // What comes of their payloads from now on is another try, on what was sealed meanwhile.
          for (const blocks of [this.#skipped, this.#executed])
            forget(blocks, (number) => number >= event.from);
          void publish({ ...event, version });
          observe(event);
          break;
        }
        case 'confirmed':
          // Told by whoever wrote the block.
          break;
      }
    }
  }

  /** Whether a block that was executed is not there any more, or the one below it. */
  #isGone(payloadId: Hex, blockNumber: number): boolean {
    const standing: readonly string[] = this.#modules.executor.preconfirmedPayloads();
    return [...this.#executed].some(
      ([executed, number]) =>
        (executed === payloadId || number === blockNumber - 1) && !standing.includes(executed),
    );
  }

  /** A block is not begun by rules that are known to be too old for it. */
  #expectKnown({ base }: Flashblock): void {
    const stop = this.#modules.stop?.();
    if (base === undefined || stop === undefined || base.timestamp < BigInt(stop.time)) return;
    throw new UnknownForkError(stop.reason);
  }

  async #execute({ flashblock, stream }: Told, signal: AbortSignal): Promise<void> {
    const { executor, state, publish, observe, accuracy } = this.#modules;
    const { payloadId, blockNumber, index } = flashblock;
    const started = performance.now();
    const reads = new BlockReads(undefined);
    const deadline = started + this.#options.preconfirmedTimeoutMs;
    let rounds = 0;
    try {
      const load: BlockLoader = async (keys, asOf) => {
        rounds++;
        return within(state.loadFor(reads, keys, asOf), deadline - performance.now());
      };
      this.#expectKnown(flashblock);
      const executed = await executor.executeFlashblock(flashblock.text, load, deadline, signal);
      state.accept(reads);
      // The first of a block takes the place of those of its number and above.
      if (index === 0) forget(this.#executed, (number) => number >= blockNumber);
      this.#executed.set(payloadId, blockNumber);
      // It stands on the sealed block, and whoever holds the other contents must not put it on top of those.
      if (index === 0 && executor.sealedOtherwise === blockNumber - 1)
        void publish({
          kind: 'dropped',
          from: blockNumber - 1,
          reason: 'sealedOtherwise',
          version: undefined,
        });
      accuracy.told(blockNumber, stream);
      void publish({ kind: 'preconfirmed', payloadId, ...executed });
      this.#executedAt = performance.now();
      observe({
        kind: 'executed',
        ...{ number: blockNumber, index, rounds },
        transactions: flashblock.diff.transactions.length,
        ms: this.#executedAt - started,
      });
    } catch (error) {
      if (signal.aborted) return;
      // What will fail each time must not look like the builder's fault.
      if (isUnsupported(error)) throw error;
      // What it stood on went while it was executed, and it has been told of: it is begun again.
      if (this.#skipped.has(payloadId)) return;
      this.#skipped.set(payloadId, blockNumber);
      // The head has moved, which the source is about to hear of: that is not the flashblock's fault.
      if (this.#isGone(payloadId, blockNumber)) return;
      observe({ kind: 'refused', number: blockNumber, index, error });
      this.#modules.source.refuse(payloadId);
    }
  }
}

function forget(blocks: BlocksByPayload, isOver: (number: number) => boolean): void {
  for (const [payloadId, number] of blocks) if (isOver(number)) blocks.delete(payloadId);
}

/** The result, or an error once it takes longer. */
async function within<T>(result: Promise<T>, ms: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = (): void => reject(new StateUnavailableError('no upstream gave its state in time'));
  const timer = setTimeout(late, Math.max(0, ms));
  try {
    return await Promise.race([result, promise]);
  } finally {
    clearTimeout(timer);
  }
}
