import type { Receipt } from '../../chain/receipt.ts';
import { toHex } from '../../primitives/hex.ts';
import { toQuantity } from '../../primitives/parse.ts';
import type { BlockReceipts } from '../../store/interface.ts';

/**
 * Stored receipts in the form that upstreams send them, as far as a receipts root commits to them: so stored ones are
 * proven by the same code as fetched ones.
 */
export function receiptsAsJson({ receipts, logs }: BlockReceipts): readonly object[] {
  let next = 0;
  const json = receipts.map((receipt) => {
    const own = Array.from({ length: receipt.logCount }, () => logAsJson(logs.log(next++)));
    return { ...committedFields(receipt), logs: own };
  });
  if (next !== logs.length) throw new Error(`${logs.length} logs are stored, and receipts count ${next}`);
  return json;
}

function committedFields(receipt: Receipt): object {
  const deposit = receipt.extras.filter(([name]) => name.startsWith('deposit'));
  return {
    type: toQuantity(receipt.type),
    ...(receipt.root === undefined
      ? { status: toQuantity(receipt.status ?? 0) }
      : { root: toHex(receipt.root) }),
    cumulativeGasUsed: toQuantity(receipt.cumulativeGasUsed),
    logsBloom: toHex(receipt.bloom),
    ...Object.fromEntries(deposit.map(([name, value]) => [name, toQuantity(value)])),
  };
}

function logAsJson(log: {
  readonly address: Uint8Array;
  readonly topics: readonly Uint8Array[];
  readonly data: Uint8Array;
}): object {
  return { address: toHex(log.address), topics: log.topics.map(toHex), data: toHex(log.data) };
}
