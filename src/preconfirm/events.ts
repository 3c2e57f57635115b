import type { Dropped } from '../source/flashblocks/sequence.ts';

/** Everything about pre-confirmed state that is worth a metric or a log line. */
export type PreconfirmingEvent =
  | {
      readonly kind: 'executed';
      readonly number: number;
      readonly index: number;
      readonly transactions: number;
      /** Times that state was missing. */
      readonly rounds: number;
      readonly ms: number;
    }
  /** It is not what it claims to be, or its state could not be had. */
  | {
      readonly kind: 'refused';
      readonly number: number;
      readonly index: number;
      readonly error: unknown;
    }
  | Dropped;

export type ObservePreconfirming = (event: PreconfirmingEvent) => void;

/** The same for flashblocks that another process executed. */
export type ReplicatedEvent =
  | { readonly kind: 'applied'; readonly number: number; readonly index: number; readonly ms: number }
  /** A block begins whose parent is not here yet. */
  | { readonly kind: 'held'; readonly number: number }
  /** It does not follow what is here, or is none. */
  | { readonly kind: 'refused'; readonly index: number; readonly error: unknown }
  | { readonly kind: 'dropped'; readonly reason: string };

export type ObserveReplicated = (event: ReplicatedEvent) => void;
