import { concatHex, type Hex, keccak256, numberToHex, slice } from 'viem';
import {
  type BlockInputs,
  beaconRoot,
  type OpSequencer,
  type Payload,
  type SequencedBlock,
} from '../servers/op-sequencer.ts';

/** A flashblock as it goes over the wire. */
export interface FlashblockMessage {
  readonly payload_id: Hex;
  readonly index: number;
  readonly base?: Readonly<Record<string, Hex>>;
  readonly diff: Readonly<Record<string, unknown>> & {
    readonly block_hash: Hex;
    readonly transactions: readonly Hex[];
  };
  readonly metadata: { readonly block_number: number };
}

export interface BuiltFlashblock {
  readonly message: FlashblockMessage;
  /** The whole block so far. */
  readonly payload: Payload;
  /** What it was built from, on its parent. */
  readonly inputs: BlockInputs;
  /** Time op-geth took to build and to hold it. */
  readonly ms: number;
}

export interface BlockPlan extends Omit<BlockInputs, 'transactions'> {
  /** Signed transactions of each flashblock after index 0, which has the deposits only. */
  readonly parts: readonly (readonly Hex[])[];
  /** Counts up when the same block is built again; gives it another payload id and another randao. */
  readonly attempt?: number;
}

/** Cuts transactions into `count` flashblocks, in order; the last has one if any has. */
export function cutIntoParts(transactions: readonly Hex[], count: number): readonly (readonly Hex[])[] {
  const end = (part: number): number => Math.floor((transactions.length * part) / count);
  return Array.from({ length: count }, (_, part) => transactions.slice(end(part), end(part + 1)));
}

/**
 * Builds a block in real steps: op-geth executes every partial block and holds it as a side block, so that it answers
 * for the hash of each flashblock.
 */
export class FlashblockBuilder {
  private readonly sequencer: OpSequencer;

  constructor(sequencer: OpSequencer) {
    this.sequencer = sequencer;
  }

  /** Index 0, then one for each part; each is built when it is asked for. */
  async *build(parent: SequencedBlock, plan: BlockPlan): AsyncGenerator<BuiltFlashblock> {
    const { parts, attempt = 0, ...rest } = plan;
    const name = keccak256(concatHex([parent.hash, numberToHex(attempt)]));
    const inputs = attempt === 0 ? rest : { ...rest, prevRandao: name };
    let before = 0;
    for (let index = 0; index <= parts.length; index += 1) {
      const started = performance.now();
      const transactions = parts.slice(0, index).flat();
      const soFar = { ...inputs, transactions };
      const payload = await this.sequencer.build(parent, soFar);
      await this.sequencer.insert(payload);
      const ms = performance.now() - started;
      const message: FlashblockMessage = {
        payload_id: slice(name, 0, 8),
        index,
        ...(index === 0 ? { base: baseOf(payload) } : {}),
        diff: diffOf(payload, before),
        metadata: { block_number: Number(payload.blockNumber) },
      };
      before = payload.transactions.length;
      yield { message, payload, inputs: soFar, ms };
    }
  }
}

function baseOf(payload: Payload): Readonly<Record<string, Hex>> {
  const field = (name: string): Hex => payload[name] as Hex;
  return {
    parent_beacon_block_root: beaconRoot(Number(payload.timestamp)),
    parent_hash: payload.parentHash,
    fee_recipient: field('feeRecipient'),
    prev_randao: field('prevRandao'),
    block_number: payload.blockNumber,
    gas_limit: field('gasLimit'),
    timestamp: payload.timestamp,
    extra_data: field('extraData'),
    base_fee_per_gas: field('baseFeePerGas'),
  };
}

function diffOf(payload: Payload, before: number): FlashblockMessage['diff'] {
  return {
    state_root: payload['stateRoot'],
    receipts_root: payload['receiptsRoot'],
    logs_bloom: payload['logsBloom'],
    gas_used: payload['gasUsed'],
    block_hash: payload.blockHash,
    transactions: payload.transactions.slice(before),
    withdrawals: [],
    withdrawals_root: payload.withdrawalsRoot,
    blob_gas_used: payload['blobGasUsed'],
  };
}
