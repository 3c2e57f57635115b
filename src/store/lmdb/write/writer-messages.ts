import type { Outcome } from '../../../chain/outcome.ts';
import type { StoreErrorCode } from '../../error.ts';
import type { AppendOptions, Store } from '../../interface.ts';
import type { LmdbStoreOptions } from '../options.ts';

/** What changes a store. */
export const CHANGES = [
  'setMeta',
  'append',
  'prepend',
  'pin',
  'revertTo',
  'prune',
  'indexTransactions',
  'mark',
] as const satisfies readonly (keyof Store)[];
export type Change = (typeof CHANGES)[number];

/** An outcome as it goes to the writer: by the native core's bytes where it has them. */
export type SentOutcome = Outcome | { readonly encoded: Uint8Array };

/** Arguments of a change; outcomes are sent in their own form. */
export type ChangeArguments = {
  readonly [C in Change]: C extends 'append'
    ? readonly [outcomes: readonly SentOutcome[], options?: AppendOptions]
    : C extends 'prepend'
      ? readonly [outcomes: readonly SentOutcome[]]
      : Readonly<Parameters<Store[C]>>;
};

/** What the writer is started with. */
export type WriterData = LmdbStoreOptions;

export type WriterOrder =
  | { [C in Change]: { readonly id: number; readonly change: C; readonly args: ChangeArguments[C] } }[Change]
  | { readonly id: number; readonly change: 'close'; readonly args: readonly [] };

export type WriterAnswer =
  | { readonly id: number; readonly kind: 'done'; readonly value: unknown }
  /** A `StoreError`, whose class would not survive the way. */
  | {
      readonly id: number;
      readonly kind: 'refused';
      readonly code: StoreErrorCode;
      readonly message: string;
    }
  | { readonly id: number; readonly kind: 'failed'; readonly error: unknown };
