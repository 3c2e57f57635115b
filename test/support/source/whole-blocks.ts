import { toQuantity } from '../../../src/primitives/parse.ts';
import { hashAfter, hashOf } from './flashblocks.ts';

/** A pending block as nodes show it, with transactions of these names. */
export function wholeBlock(
  number: number,
  names: readonly string[],
  change: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return {
    number: toQuantity(number),
    parentHash: hashAfter(number - 1),
    parentBeaconBlockRoot: hashOf('beacon'),
    miner: `0x${'11'.repeat(20)}`,
    mixHash: hashOf('randao'),
    gasLimit: '0x3938700',
    timestamp: toQuantity(1_700_000_000 + 2 * number),
    extraData: '0x01000000fa000000060000000000000000',
    baseFeePerGas: '0x3b9aca00',
    stateRoot: hashOf(`state ${number} ${names.join()}`),
    receiptsRoot: hashOf('receipts'),
    logsBloom: `0x${'00'.repeat(256)}`,
    gasUsed: toQuantity(21_000 * names.length),
    blobGasUsed: '0x0',
    hash: hashOf(`block ${number} ${names.join()}`),
    withdrawalsRoot: hashOf('withdrawals'),
    withdrawals: [],
    transactions: names.map((name) => ({ type: '0x2', hash: hashOf(name), name })),
    ...change,
  };
}

/** The bytes of such a transaction. */
export function encoded(transaction: Readonly<Record<string, unknown>>): Uint8Array {
  return Buffer.from(`02${Buffer.from(String(transaction['name'])).toString('hex')}`, 'hex');
}

/** A notification of a node about it; `flashblock` is what nodes of ours say beside it. */
export function notification(block: Readonly<Record<string, unknown>>, flashblock?: unknown): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    method: 'eth_subscription',
    params: { subscription: '0x1', result: block, flashblock },
  });
}
