import type { StateDiff } from '../chain/diff.ts';
import type { BlockRef, Outcome } from '../chain/outcome.ts';
import { decodeDiff, decodeOutcome } from '../chain/outcome-codec.ts';
import type { ConfirmedBlock, FeedEvent, FeedItem, RemovedBlock, SentRemovedBlock } from './interface.ts';

/** Reads an item. */
export function readItem(item: FeedItem): FeedEvent {
  switch (item.kind) {
    case 'preconfirmed': {
      const { kind, outcome, ...place } = item;
      return { kind, flashblock: { ...place, outcome: decodeOutcome(outcome) } };
    }
    case 'confirmed':
      return {
        kind: item.kind,
        removed: item.removed.map(withDiff),
        added: item.added.map((block) => new EncodedBlock(block, block.outcome)),
      };
    case 'dropped':
    case 'marked':
    case 'anchored':
      return item;
  }
}

/** Nobody may ever ask for the outcome of a block: only those with subscribers do. */
class EncodedBlock implements ConfirmedBlock {
  readonly number: number;
  readonly hash: BlockRef['hash'];
  readonly #bytes: Uint8Array;
  #outcome: Outcome | undefined;

  constructor({ number, hash }: BlockRef, bytes: Uint8Array) {
    this.number = number;
    this.hash = hash;
    this.#bytes = bytes;
  }

  get outcome(): Outcome {
    this.#outcome ??= decodeOutcome(this.#bytes);
    return this.#outcome;
  }
}

function withDiff({ diffBytes, ...block }: SentRemovedBlock): RemovedBlock {
  let diff: StateDiff | undefined;
  return {
    ...block,
    get diff() {
      diff ??= decodeDiff(diffBytes);
      return diff;
    },
  };
}
