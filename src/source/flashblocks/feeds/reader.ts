import { InvalidParamsError } from '../../../primitives/errors.ts';
import { DecodeError } from '../decode.ts';
import type { Flashblock } from '../flashblock.ts';
import { WholeBlockCutter } from './cutter.ts';
import type { FeedModules } from './feed.ts';
import type { FlashblockPlace } from './notification.ts';
import { readWholeBlock } from './whole-block.ts';

/** What became of a block that a source showed: what is new in it, and flashblocks after that in which nothing is. */
export type WholeRead =
  | {
      readonly ok: true;
      readonly flashblock: Flashblock | undefined;
      readonly empty?: readonly Flashblock[];
    }
  | { readonly ok: false; readonly error: DecodeError };

/** Reads the whole blocks of one source, and cuts them where they are wanted. Never throws: it is somebody else's input. */
export class WholeBlockReader {
  readonly #name: string;
  readonly #modules: Pick<FeedModules, 'admits' | 'clock' | 'observe'>;
  readonly #cutter: WholeBlockCutter;
  #isVerified = true;

  constructor(
    name: string,
    staleMs: number,
    modules: Pick<FeedModules, 'admits' | 'clock' | 'encode' | 'observe'>,
  ) {
    this.#name = name;
    this.#modules = modules;
    this.#cutter = new WholeBlockCutter(name, modules.encode, staleMs);
  }

  /** False once a block came without a receipts root or a bloom. */
  get isVerified(): boolean {
    return this.#isVerified;
  }

  /** `place` where the source says which flashblock it is of. */
  read(value: unknown, place?: FlashblockPlace): WholeRead {
    try {
      const block = readWholeBlock(value);
      if (!this.#modules.admits(true)) {
        this.#cutter.reset();
        return { ok: true, flashblock: undefined };
      }
      const flashblock = this.#cutter.cut(block, this.#modules.clock.now(), place?.payloadId);
      const empty = place === undefined ? [] : this.#cutter.upTo(place.index);
      if (this.#isVerified && flashblock !== undefined && flashblock.diff.logsBloom === undefined) {
        this.#isVerified = false;
        this.#modules.observe({ kind: 'unverified', stream: this.#name });
      }
      return { ok: true, flashblock, empty };
    } catch (error) {
      // Whoever encodes says what it read, which is not for logs.
      const isOurs = error instanceof InvalidParamsError;
      const reason = isOurs ? error.type.reason : 'transactions: not what their hashes say';
      return { ok: false, error: new DecodeError('malformed', reason) };
    }
  }
}
