/**
 * What one block changed in the state. Account and slot values are opaque here: the native core writes and reads
 * them. Empty bytes mean "does not exist" for an account and zero for a slot.
 */
export interface StateDiff {
  /** Accounts whose whole storage vanished in this block, before `slots` of this diff were written. */
  readonly wiped: readonly Uint8Array[];
  readonly accounts: readonly (readonly [address: Uint8Array, account: Uint8Array])[];
  readonly slots: readonly (readonly [address: Uint8Array, slot: Uint8Array, value: Uint8Array])[];
  readonly codes: readonly (readonly [hash: Uint8Array, code: Uint8Array])[];
}
