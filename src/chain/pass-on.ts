import type { Hex } from '../primitives/hex.ts';

/** What only others can answer. */
export type PassedRequest =
  /** A signed transaction, which was read and found right. */
  | { readonly kind: 'send'; readonly raw: Hex; readonly from: Hex; readonly nonce: number }
  /** The next nonce of an account with what waits in pools. */
  | { readonly kind: 'poolNonce'; readonly address: Hex }
  /** A request as it came; `keys` are those whose state it has read beside itself. */
  | {
      readonly kind: 'request';
      readonly method: string;
      readonly params: readonly unknown[];
      readonly keys?: number;
    };

/** What they said: JSON, or an error that is an answer, too. */
export type PassedAnswer =
  | { readonly kind: 'result'; readonly json: string }
  | {
      readonly kind: 'error';
      readonly code: number;
      readonly message: string;
      /** JSON. */
      readonly data?: string | undefined;
    };

/** Has others answer. Rejects with `StateUnavailableError` when nobody does, and with `OverloadedError`. */
export type PassOn = (
  request: PassedRequest,
  context: { readonly client: string; readonly signal: AbortSignal },
) => Promise<PassedAnswer>;
