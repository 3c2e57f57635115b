import type { BlockSoFar } from '../../../src/dev/chain.ts';
import type { Hex } from '../../../src/primitives/hex.ts';

const word = (name: string): Hex => `0x${Buffer.from(name).toString('hex').padStart(64, '0')}`;

/** A block with these transactions, as far as flashblocks look at it. */
export function blockOf(number: number, transactions: readonly Hex[]): BlockSoFar {
  return {
    parentHash: word(`parent ${number}`),
    parentBeaconBlockRoot: word('beacon'),
    feeRecipient: '0x4200000000000000000000000000000000000011',
    prevRandao: word(`randao ${number}`),
    blockNumber: `0x${number.toString(16)}`,
    gasLimit: '0x3938700',
    timestamp: '0x1',
    extraData: '0x',
    baseFeePerGas: '0x7',
    stateRoot: word('state'),
    receiptsRoot: word('receipts'),
    logsBloom: `0x${'00'.repeat(256)}`,
    gasUsed: `0x${transactions.length.toString(16)}`,
    blockHash: word(transactions.join()),
    withdrawalsRoot: word('withdrawals'),
    blobGasUsed: '0x0',
    transactions,
  };
}
