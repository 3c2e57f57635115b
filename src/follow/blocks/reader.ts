import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import { InvalidBlockError } from '../../executor/errors.ts';
import type { NativeExecutor } from '../../executor/native-executor.ts';
import type { Hex } from '../../primitives/hex.ts';
import { parseHash, toQuantity } from '../../primitives/parse.ts';
import { SourceError } from '../../source/errors.ts';
import type { ChainSource, JsonObject, ReadOptions, UpstreamAnswer } from '../../source/interface.ts';
import { askUntilValid } from './ask-until-valid.ts';
import { RefusedBlockError } from './refused-block.ts';

/** A block whose parts all fit its hash. */
export interface ReadBlock extends BlockRef {
  readonly parentHash: Hex;
  /** RLP of the whole block. */
  readonly rlp: Uint8Array;
  readonly timestamp: number;
  readonly upstream: string;
}

export interface BlockReaderModules {
  readonly source: Pick<ChainSource, 'blockByHash' | 'blockByNumber' | 'receipts' | 'report'>;
  readonly executor: Pick<NativeExecutor, 'blockFromJson' | 'outcomeFromJson'>;
  /** What a block has that only newer rules describe. Left out where blocks are older than ones that are verified. */
  readonly unknownForm?: (block: JsonObject) => string | undefined;
}

/** Reads blocks and receipts from upstreams, and takes only what is proven by a block's hash. */
export class BlockReader {
  readonly #modules: BlockReaderModules;

  constructor(modules: BlockReaderModules) {
    this.#modules = modules;
  }

  /** The block with this hash; rejects with `SourceError` when nobody has it. */
  byHash(hash: Hex, options?: ReadOptions): Promise<ReadBlock> {
    const ask = (): Promise<UpstreamAnswer<JsonObject> | undefined> =>
      this.#modules.source.blockByHash(hash, options);
    return this.#honest(hash, ask, (answer) => this.#read(answer));
  }

  /** The block that an upstream says has this number. */
  byNumber(number: number, options?: ReadOptions): Promise<ReadBlock> {
    const ask = (): Promise<UpstreamAnswer<JsonObject> | undefined> =>
      this.#modules.source.blockByNumber(number, options);
    return this.#honest(toQuantity(number), ask, (answer) => this.#read(answer));
  }

  /** What a block gave, from its receipts: all but the state diff, which is empty. */
  outcomeOf({ hash, rlp }: ReadBlock, options?: ReadOptions): Promise<Outcome> {
    return this.#honest(
      hash,
      () => this.#modules.source.receipts(hash, options),
      ({ value }) => this.#modules.executor.outcomeFromJson(rlp, value),
    );
  }

  /** The receipts of a block as JSON, which its receipts root proves. */
  receiptsOf({ hash, rlp }: ReadBlock, options?: ReadOptions): Promise<readonly JsonObject[]> {
    return this.#honest(
      hash,
      () => this.#modules.source.receipts(hash, options),
      ({ value }) => {
        this.#modules.executor.outcomeFromJson(rlp, value);
        return value;
      },
    );
  }

  #read({ value, upstream }: UpstreamAnswer<JsonObject>): ReadBlock {
    const rlp = this.#encode(value, upstream);
    // All of it is covered by the hash, which has just been checked.
    const hash = parseHash(value['hash'], 'block hash');
    const parentHash = parseHash(value['parentHash'], 'parent hash');
    const [number, timestamp] = [Number(value['number']), Number(value['timestamp'])];
    return { number, hash, parentHash, rlp, timestamp, upstream };
  }

  /** What does not fit its hash is a lie, unless it has what only newer rules describe. */
  #encode(value: JsonObject, upstream: string): Uint8Array {
    try {
      return this.#modules.executor.blockFromJson(value);
    } catch (error) {
      const reason = error instanceof InvalidBlockError ? this.#modules.unknownForm?.(value) : undefined;
      if (reason === undefined) throw error;
      const hash = parseHash(value['hash'], 'block hash');
      throw new RefusedBlockError({ number: Number(value['number']), hash }, upstream, reason, {
        cause: error,
      });
    }
  }

  /** An answer that may be missing: nobody has the block. */
  #honest<A, T>(
    item: string,
    ask: () => Promise<UpstreamAnswer<A> | undefined>,
    read: (answer: UpstreamAnswer<A>) => T,
  ): Promise<T> {
    const present = async (): Promise<UpstreamAnswer<A>> => {
      const answer = await ask();
      if (answer === undefined) throw new SourceError({ code: 'unknownBlock' }, `no upstream has ${item}`);
      return answer;
    };
    return askUntilValid(this.#modules.source, { item, ask: present, read });
  }
}
