import { CodecError } from '../../chain/byte-codec.ts';
import type { FeedItem } from '../interface.ts';
import { decodeItem } from './item-codec.ts';
import { decodePart, joinPieces, type Part, type Position, UnknownFormatError } from './message.ts';

/**
 * Why the items that are delivered do not follow each other:
 * - `start`: nothing was delivered before, so nothing is known of what came before.
 * - `gap`: sequences of the same epoch are missing.
 * - `epoch`: another writer began; what the former one did last may never have been sent.
 * - `parts`: an item came without all of its parts.
 * - `unreadable`: an item came whole, and is not one.
 * - `format`: a writer speaks a version that this program does not know.
 */
export type LostReason = 'start' | 'gap' | 'epoch' | 'parts' | 'unreadable' | 'format';

/** Something is missing here: whoever needs it reads the store, and takes up the items that follow. */
export interface Lost {
  readonly reason: LostReason;
  /** The last item before, and what came instead of the one after it, if that is known. */
  readonly had: Position | undefined;
  readonly came: Position | undefined;
}

export type FeedStep =
  | { readonly kind: 'item'; readonly position: Position; readonly item: FeedItem }
  | { readonly kind: 'lost'; readonly lost: Lost };

/** Messages that led to nothing. */
export interface IgnoredCounts {
  /** Of an epoch that is over. */
  readonly stale: number;
  /** Delivered before, or said to be lost before. */
  readonly repeated: number;
  /** No messages of ours. */
  readonly unreadable: number;
}

/** The parts of the next item that are here. */
interface Assembly {
  readonly compressed: boolean;
  readonly parts: number;
  readonly pieces: Uint8Array[];
  bytes: number;
}

/**
 * Makes items of messages: each once, in the order of their sequences, and a `lost` wherever one is missing. Does no I/O. Holds
 * at most `maxItemBytes` of an item whose parts are still coming, and as much again while it puts them together.
 */
export class FeedSequence {
  readonly #maxItemBytes: number;
  #last: Position | undefined;
  #assembly: Assembly | undefined;
  /** The epoch that the store knows: an older one is over. */
  #fence = 0;
  readonly #ignored = { stale: 0, repeated: 0, unreadable: 0 };

  constructor(maxItemBytes: number) {
    this.#maxItemBytes = maxItemBytes;
  }

  /** The last item that was delivered or said to be lost. */
  get last(): Position | undefined {
    return this.#last;
  }

  get ignored(): IgnoredCounts {
    return this.#ignored;
  }

  /**
   * Takes the epoch that the store's root row has. Older ones are ignored from now on. A higher one that the feed spoke of is not
   * true, or newer than that row: it is forgotten, and the next message is a start.
   */
  fence(epoch: number): void {
    this.#fence = epoch;
    if (this.#last !== undefined && this.#last.epoch > epoch) {
      this.#last = undefined;
      this.#assembly = undefined;
    }
  }

  /** Takes the next message; gives at most a `lost` and an item after it. */
  take(message: Uint8Array): FeedStep[] {
    let part: Part;
    try {
      part = decodePart(message);
    } catch (error) {
      if (!(error instanceof CodecError)) throw error;
      if (error instanceof UnknownFormatError) return [this.#lost('format', undefined)];
      this.#ignored.unreadable++;
      return [];
    }
    const last = this.#last;
    if (part.epoch < Math.max(this.#fence, last?.epoch ?? 0)) {
      this.#ignored.stale++;
      return [];
    }
    if (last !== undefined && part.epoch === last.epoch && part.sequence <= last.sequence) {
      this.#ignored.repeated++;
      return [];
    }
    const reason = breakBetween(last, part);
    const steps: FeedStep[] = [];
    if (reason !== undefined) {
      steps.push(this.#lost(reason, part));
      this.#assembly = undefined;
      this.#last = { epoch: part.epoch, sequence: part.sequence - 1 };
    }
    const next = this.#add(part);
    // What is missing here was told already.
    if (next !== undefined && !(next.kind === 'lost' && reason !== undefined)) steps.push(next);
    return steps;
  }

  /** Adds a part of the next item. */
  #add(part: Part): FeedStep | undefined {
    const { compressed, parts, piece } = part;
    const assembly = this.#assembly ?? { compressed, parts, pieces: [], bytes: 0 };
    if (part.part < assembly.pieces.length) {
      this.#ignored.repeated++;
      return undefined;
    }
    const fits =
      part.part === assembly.pieces.length &&
      parts === assembly.parts &&
      compressed === assembly.compressed &&
      assembly.bytes + piece.length <= this.#maxItemBytes;
    if (!fits) return this.#giveUp('parts', part);
    // A view would hold all that was read from the socket with it.
    assembly.pieces.push(parts === 1 ? piece : new Uint8Array(piece));
    assembly.bytes += piece.length;
    this.#assembly = assembly;
    if (assembly.pieces.length < parts) return undefined;
    try {
      const item = decodeItem(joinPieces(assembly.pieces, compressed, this.#maxItemBytes));
      const position = this.#moveTo(part);
      return { kind: 'item', position, item };
    } catch (error) {
      if (!(error instanceof CodecError)) throw error;
      return this.#giveUp('unreadable', part);
    }
  }

  #giveUp(reason: LostReason, came: Position): FeedStep {
    const lost = this.#lost(reason, came);
    this.#moveTo(came);
    return lost;
  }

  #moveTo({ epoch, sequence }: Position): Position {
    this.#assembly = undefined;
    this.#last = { epoch, sequence };
    return this.#last;
  }

  #lost(reason: LostReason, came: Position | undefined): FeedStep {
    const place = came && { epoch: came.epoch, sequence: came.sequence };
    return { kind: 'lost', lost: { reason, had: this.#last, came: place } };
  }
}

function breakBetween(last: Position | undefined, next: Position): LostReason | undefined {
  if (last === undefined) return 'start';
  if (next.epoch !== last.epoch) return 'epoch';
  return next.sequence === last.sequence + 1 ? undefined : 'gap';
}
