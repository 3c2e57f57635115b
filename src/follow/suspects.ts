import type { BlockRef } from '../chain/outcome.ts';
import { describeKey } from '../chain/state-key.ts';
import type { InvalidBlockError } from '../executor/errors.ts';
import { StateUnavailableError } from '../primitives/errors.ts';
import { SourceError } from '../source/errors.ts';
import type { ChainSource } from '../source/interface.ts';
import type { Pin } from '../store/interface.ts';
import type { ReadBlock } from './blocks/reader.ts';
import { RefusedBlockError } from './blocks/refused-block.ts';
import { FalseCopyError } from './errors.ts';
import type { BlockReads } from './state/block-reads.ts';
import { plainReader, type StateReader, type UpstreamValue } from './state/reader.ts';

export interface SuspectsModules {
  readonly source: Pick<ChainSource, 'report' | 'status' | 'state'>;
  /** Reads what the chain really has, with a proof of it. */
  readonly prove: StateReader;
}

interface Refusal {
  readonly block: ReadBlock;
  readonly reason: string;
  /** What it was executed on, by upstream: what they said of the same keys. */
  readonly told: Map<string, ReadonlyMap<string, Pin>>;
  /** Nobody is left whose word could be to blame. */
  isSettled: boolean;
}

/**
 * Finds out whose fault it is that a block does not verify. Its parts fit its hash, so what it was executed on is false,
 * or our rules are too old, or nobody ever built such a block. Only who is shown to have told false state is banned: by
 * a proof, or by the block itself once it verifies on what another one said (B16).
 */
export class Suspects {
  readonly #modules: SuspectsModules;
  #refusal: Refusal | undefined;

  constructor(modules: SuspectsModules) {
    this.#modules = modules;
  }

  /** Who is asked first for the state of a block: not again those with whose word it did not verify. */
  preferFor({ hash, upstream }: ReadBlock): string {
    const refusal = this.#refusal;
    if (refusal?.block.hash !== hash || refusal.isSettled) return upstream;
    return this.#untried(refusal) ?? upstream;
  }

  /** A block has verified: whoever said something else of what it was executed on before has lied. */
  verified({ number, hash }: ReadBlock, { pins }: BlockReads): void {
    const refusal = this.#refusal;
    if (refusal === undefined || number < refusal.block.number) return;
    this.#refusal = undefined;
    if (refusal.block.hash !== hash) return;
    for (const [upstream, told] of refusal.told) {
      const isFalse = [...told].some(([text, { value }]) => {
        const truth = pins.get(text)?.value;
        return truth !== undefined && Buffer.compare(truth, value) !== 0;
      });
      if (isFalse) this.#modules.source.report(upstream, { item: hash, what: refusal.reason });
    }
  }

  /**
   * What a block's failure comes to: the same error while somebody may have lied and it is worth another try, else
   * `RefusedBlockError`. `at` is the block that state was read at. Throws `FalseCopyError`.
   */
  async judge(block: ReadBlock, reads: BlockReads, error: InvalidBlockError, at: BlockRef): Promise<Error> {
    const { reason } = error.type;
    const before = this.#refusal;
    const refusal =
      before?.block.hash === block.hash ? before : { block, reason, told: new Map(), isSettled: false };
    this.#refusal = refusal;
    // Hot state gave some of it unasked. It is empty the next time, and all that a block reads is seen.
    if (before === undefined) return error;
    if (!refusal.isSettled) {
      await this.#expectTrue(reads, at);
      const verdict = await this.#check(block, reads, reason, at);
      if (verdict === 'false') return error;
      if (verdict === 'unknown') {
        for (const upstream of reads.sources) refusal.told.set(upstream, reads.toldBy(upstream));
        if (this.#untried(refusal) !== undefined) return error;
      }
      refusal.isSettled = true;
    }
    return new RefusedBlockError(block, block.upstream, reason, { cause: error });
  }

  /** An upstream that can be asked, and whose word the block was not executed on yet. */
  #untried({ told }: Refusal): string | undefined {
    if (told.size === 0) return undefined;
    return this.#fit().find((name) => !told.has(name));
  }

  /** The upstreams that can be asked. */
  #fit(): readonly string[] {
    const status = this.#modules.source.status();
    return status.filter((one) => one.outForMs === 0 && one.otherChain === undefined).map(({ name }) => name);
  }

  /** Whether what upstreams said for this block is true, as far as proofs tell; who is proven wrong is reported. */
  async #check(
    block: ReadBlock,
    reads: BlockReads,
    what: string,
    at: BlockRef,
  ): Promise<'true' | 'false' | 'unknown'> {
    const told = [...reads.sources].flatMap((upstream) =>
      [...reads.toldBy(upstream).values()].map((pin) => ({ upstream, pin })),
    );
    const truths = await this.#proven(
      told.map(({ pin }) => pin),
      at,
      reads,
    );
    const verdicts = told.map(({ pin }, index) => isAs(truths[index], pin));
    const liars = new Set(
      told.flatMap(({ upstream }, index) => (verdicts[index] === false ? [upstream] : [])),
    );
    for (const liar of liars) this.#modules.source.report(liar, { item: block.hash, what });
    if (liars.size > 0) return 'false';
    return verdicts.every((verdict) => verdict === true) ? 'true' : 'unknown';
  }

  /** Throws when something is false that was held here before the block was read: by a proof or, without, by the word of all upstreams. */
  async #expectTrue(reads: BlockReads, at: BlockRef): Promise<void> {
    const pins = [...reads.held.values()].filter(isProvable);
    const truths = await this.#proven(pins, at, reads);
    const proven = pins.find((pin, index) => isAs(truths[index], pin) === false);
    if (proven !== undefined) throw falseCopy(proven, 'is proven false');
    const unproven = pins.filter((_, index) => truths[index] === undefined);
    const words = await this.#agreed(unproven, at);
    const denied = unproven.find((pin, index) => isAs(words[index], pin) === false);
    if (denied !== undefined) throw falseCopy(denied, 'is not what all upstreams say now');
  }

  /**
   * What all upstreams that can be asked say alike, where no proof can be had: an upstream that was wrong for a moment would else keep a copy
   * from going on for ever. A single liar among several changes nothing.
   */
  async #agreed(pins: readonly Pin[], at: BlockRef): Promise<readonly (Uint8Array | undefined)[]> {
    if (pins.length === 0) return [];
    const words = await Promise.all(this.#fit().map((name) => this.#wordOf(name, pins, at)));
    return pins.map((_, index) => {
      const [first, ...others] = words.map((values) => values[index]);
      if (first === undefined) return undefined;
      return others.every((other) => other !== undefined && Buffer.compare(other, first) === 0)
        ? first
        : undefined;
    });
  }

  /** What one upstream says; nothing where another one answered in its place. */
  async #wordOf(
    upstream: string,
    pins: readonly Pin[],
    at: BlockRef,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    const keys = pins.map(({ key }) => key);
    const read = plainReader(this.#modules.source);
    const values = await orNothing(read(keys, at, { prefer: upstream }));
    return values.map((one) => (one.upstream === upstream ? one.value : undefined));
  }

  async #proven(
    pins: readonly Pin[],
    at: BlockRef,
    { prefer }: BlockReads,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    if (pins.length === 0) return [];
    const keys = pins.map(({ key }) => key);
    return (await orNothing(this.#modules.prove(keys, at, { prefer }))).map(({ value }) => value);
  }
}

/** Values, or none where nobody can give them: without, nobody can tell who is right. */
async function orNothing(reading: Promise<readonly UpstreamValue[]>): Promise<readonly UpstreamValue[]> {
  try {
    return await reading;
  } catch (failure) {
    if (failure instanceof SourceError || failure instanceof StateUnavailableError) return [];
    throw failure;
  }
}

function falseCopy({ key }: Pin, how: string): FalseCopyError {
  return new FalseCopyError(
    `${describeKey(key)}, as it is held here, ${how}: an upstream was wrong when it was read for a request`,
  );
}

/** Whether a key has the value that is pinned of it; undefined where its value is not known. */
function isAs(truth: Uint8Array | undefined, { value }: Pin): boolean | undefined {
  return truth === undefined ? undefined : Buffer.compare(truth, value) === 0;
}

function isProvable({ key }: Pin): boolean {
  return key.kind === 'account' || key.kind === 'slot';
}
