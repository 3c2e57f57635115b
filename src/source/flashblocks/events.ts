import type { Hex } from '../../primitives/hex.ts';
import type { DecodeErrorCode } from './decode.ts';
import type { FeedKind } from './feeds/address.ts';
import type { Flashblock } from './flashblock.ts';
import type { Dropped } from './sequence.ts';
import type { Decision } from './sequence-rules.ts';

/** The pre-confirmed chain, step by step. */
export type FlashblockEvent =
  /** The next one. At index 0 it takes the place of pre-confirmed blocks of its number and above, if there are any. */
  | { readonly kind: 'flashblock'; readonly flashblock: Flashblock; readonly stream: string }
  /** The canonical block is the one that was pre-confirmed. */
  | { readonly kind: 'confirmed'; readonly number: number; readonly hash: Hex }
  | Dropped;

/** Everything worth a metric or a log line. Streams go by their names, which hold no credential. */
export type FlashblockObservation =
  | {
      readonly kind: 'message';
      readonly stream: string;
      /** Absent where the transport has read it already. */
      readonly bytes?: number;
    }
  | {
      readonly kind: 'undecodable';
      readonly stream: string;
      readonly code: DecodeErrorCode;
      readonly reason: string;
    }
  | {
      readonly kind: 'decided';
      readonly stream: string;
      readonly decision: Decision;
      readonly number: number;
      readonly index: number;
    }
  /** How long after the first stream another one brought the same. */
  | { readonly kind: 'lag'; readonly stream: string; readonly ms: number }
  /** A flashblock that closed a hole; those behind it had come before it. */
  | { readonly kind: 'gapRepaired'; readonly stream: string; readonly number: number; readonly index: number }
  | {
      readonly kind: 'contradiction';
      readonly streams: readonly [first: string, second: string];
      readonly number: number;
      readonly index: number;
    }
  /** Not needed: another source feeds the sequence. */
  | { readonly kind: 'standby'; readonly stream: string }
  /** Blocks of this source come without what their results could be compared with. */
  | { readonly kind: 'unverified'; readonly stream: string }
  | Dropped
  | {
      readonly kind: 'stream';
      /** Once that is known. */
      readonly feed?: FeedKind;
      readonly stream: string;
      readonly state: 'connected' | 'silent' | 'lost';
      readonly reason?: string;
    };

export type ObserveFlashblocks = (event: FlashblockObservation) => void;
