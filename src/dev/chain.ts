import type { Hex } from '../primitives/hex.ts';

/** A block as far as it is built, with the fields that flashblocks tell. */
export interface BlockSoFar {
  readonly parentHash: Hex;
  readonly parentBeaconBlockRoot: Hex;
  readonly feeRecipient: Hex;
  readonly prevRandao: Hex;
  readonly blockNumber: Hex;
  readonly gasLimit: Hex;
  readonly timestamp: Hex;
  readonly extraData: Hex;
  readonly baseFeePerGas: Hex;
  readonly stateRoot: Hex;
  readonly receiptsRoot: Hex;
  readonly logsBloom: Hex;
  readonly gasUsed: Hex;
  readonly blockHash: Hex;
  readonly withdrawalsRoot: Hex;
  readonly blobGasUsed: Hex;
  /** Encoded, in order. */
  readonly transactions: readonly Hex[];
}

/** A block that is being built on the head. */
export interface OpenBlock {
  /** The block with what the pool has got meanwhile. The head stays where it is. */
  extend(): Promise<BlockSoFar>;
  /** The same, and makes it the head: nothing follows. */
  seal(): Promise<BlockSoFar>;
}

/** A chain of our own, run by a real client, that grows only when told to. */
export interface DevChain extends AsyncDisposable {
  readonly client: 'op-geth' | 'anvil';
  /** Where it takes transactions, and answers. */
  readonly url: string;
  /** The rules of the chain. */
  readonly genesisFile: string;
  /** Aborted, with the reason, when the client has ended by itself. */
  readonly failed: AbortSignal;
  /** Begins a block on the head. */
  open(): Promise<OpenBlock>;
}

/** What a chain is started with. */
export interface ChainOptions {
  readonly command: string;
  /** An empty folder that nobody else uses; deleted by who made it. */
  readonly folder: string;
  readonly host: string;
  readonly port: number;
}

const SECONDS_PER_BLOCK = 2;

/** Two seconds after its parent, or now if the machine slept. */
export function timestampAfter(parent: number): number {
  return Math.max(parent + SECONDS_PER_BLOCK, Math.floor(Date.now() / 1_000));
}
