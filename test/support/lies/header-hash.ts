import { type Hex, keccak256, toRlp } from 'viem';

/** A quantity as RLP has it: without leading zeros, and nothing for zero. */
export function quantityBytes(value: unknown): Hex {
  const digits = BigInt(String(value)).toString(16);
  if (digits === '0') return '0x';
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`;
}

const headerFields: readonly (readonly [name: string, isQuantity: boolean])[] = [
  ...(
    [
      'parentHash',
      'sha3Uncles',
      'miner',
      'stateRoot',
      'transactionsRoot',
      'receiptsRoot',
      'logsBloom',
    ] as const
  ).map((name) => [name, false] as const),
  ...(['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp'] as const).map(
    (name) => [name, true] as const,
  ),
  ...(['extraData', 'mixHash', 'nonce'] as const).map((name) => [name, false] as const),
  ...[['baseFeePerGas', true] as const, ['withdrawalsRoot', false] as const],
  ...[['blobGasUsed', true] as const, ['excessBlobGas', true] as const],
  ...[['parentBeaconBlockRoot', false] as const, ['requestsHash', false] as const],
];

/** The hash of a block, from the fields of its header as JSON has them; those it does not have are left out. */
export function headerHash(block: Readonly<Record<string, unknown>>): Hex {
  const fields = headerFields.filter(([name]) => block[name] !== undefined && block[name] !== null);
  return keccak256(
    toRlp(
      fields.map(([name, isQuantity]) => (isQuantity ? quantityBytes(block[name]) : (block[name] as Hex))),
    ),
  );
}
