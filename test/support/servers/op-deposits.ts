import { concatHex, type Hex, numberToHex, toRlp } from 'viem';
import { depositor, l1Block } from './op-genesis.ts';

const quantity = (value: bigint): Hex => (value === 0n ? '0x' : numberToHex(value));

export interface Deposit {
  /** Names the event on L1 that this comes from; must differ between deposits. */
  readonly sourceHash: Hex;
  readonly from: Hex;
  /** Left out, it creates a contract. */
  readonly to?: Hex;
  /** Given to `from` before the transaction runs, and kept even if it fails. */
  readonly mint?: bigint;
  readonly value?: bigint;
  readonly gas: bigint;
  readonly data?: Hex;
}

/** A deposit transaction (type 0x7e); nobody signs it. */
export function encodeDeposit(deposit: Deposit): Hex {
  return concatHex([
    '0x7e',
    toRlp([
      deposit.sourceHash,
      deposit.from,
      deposit.to ?? '0x',
      quantity(deposit.mint ?? 0n),
      quantity(deposit.value ?? 0n),
      quantity(deposit.gas),
      // Not a system transaction: there are none since Regolith.
      '0x',
      deposit.data ?? '0x',
    ]),
  ]);
}

/** What the L1-attributes deposit of a block tells L2; fees come from these. */
export interface L1Attributes {
  readonly baseFeeScalar: number;
  readonly blobBaseFeeScalar: number;
  readonly sequenceNumber: number;
  readonly timestamp: number;
  readonly number: number;
  readonly baseFee: bigint;
  readonly blobBaseFee: bigint;
  readonly hash: Hex;
  readonly batcher: Hex;
  readonly operatorFeeScalar: number;
  readonly operatorFeeConstant: bigint;
  readonly daFootprintGasScalar: number;
}

/** Near what OP Mainnet has, with an operator fee that is not zero. */
export const defaultL1Attributes: Omit<L1Attributes, 'sequenceNumber' | 'timestamp' | 'number' | 'hash'> = {
  baseFeeScalar: 5227,
  blobBaseFeeScalar: 1_014_213,
  baseFee: 7_000_000_000n,
  blobBaseFee: 3_000_000n,
  batcher: `0x${'00'.repeat(12)}6887246668a3b87f54deb3b94ba47a6f63f32985`,
  operatorFeeScalar: 1234,
  operatorFeeConstant: 5_678_901n,
  daFootprintGasScalar: 400,
};

/** The first transaction of every block: `setL1BlockValuesJovian`, packed as the OP stack packs it. */
export function l1AttributesDeposit(attributes: L1Attributes, sourceHash: Hex): Hex {
  const field = (value: number | bigint, size: number): Hex => numberToHex(value, { size });
  const data = concatHex([
    '0x3db6be2b',
    field(attributes.baseFeeScalar, 4),
    field(attributes.blobBaseFeeScalar, 4),
    field(attributes.sequenceNumber, 8),
    field(attributes.timestamp, 8),
    field(attributes.number, 8),
    field(attributes.baseFee, 32),
    field(attributes.blobBaseFee, 32),
    attributes.hash,
    attributes.batcher,
    field(attributes.operatorFeeScalar, 4),
    field(attributes.operatorFeeConstant, 8),
    field(attributes.daFootprintGasScalar, 2),
  ]);
  return encodeDeposit({ sourceHash, from: depositor, to: l1Block, gas: 1_000_000n, data });
}

/** The deposit that tells the milliseconds of a block, as the second of every block of Base since Denim. */
export function baseTimeDeposit(milliseconds: number, sourceHash: Hex): Hex {
  return encodeDeposit({
    sourceHash,
    from: '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001',
    to: '0x4200000000000000000000000000000000000030',
    gas: 1_000_000n,
    // setTimestampMillisPart(uint16)
    data: concatHex(['0x86bdf394', numberToHex(milliseconds, { size: 32 })]),
  });
}
