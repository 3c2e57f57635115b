/** One piece of state, as the native core names what it misses and a store is asked for it. */
export type StateKey =
  | { readonly kind: 'account'; readonly address: Uint8Array }
  | { readonly kind: 'slot'; readonly address: Uint8Array; readonly slot: Uint8Array }
  | { readonly kind: 'code'; readonly hash: Uint8Array }
  | { readonly kind: 'blockHash'; readonly number: number };
