import type { Hex } from '../primitives/hex.ts';

/** The ring of beacon roots (EIP-4788). */
export const BEACON_ROOTS: Hex = '0x000f3df6d732807ef1319fb7b8bb8522d0beac02';
/** The ring of block hashes (EIP-2935). */
export const BLOCK_HASHES: Hex = '0x0000f90827f1c53a10cb7a02335b175320002935';

/**
 * Contracts that blocks write outside of their transactions, so that no state diff of transactions has it: both rings, and
 * the queues of withdrawal and consolidation requests (EIP-7002, EIP-7251).
 */
export const SYSTEM_CONTRACTS: ReadonlySet<Hex> = new Set<Hex>([
  BEACON_ROOTS,
  BLOCK_HASHES,
  '0x00000961ef480eb55e80d19ad83579a64c007002',
  '0x0000bbddc7ce488642fb579f8b00f3a590007251',
]);
