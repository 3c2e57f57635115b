import type { Receipt } from '../../chain/receipt.ts';
import type { SentRemovedBlock } from '../../feed/interface.ts';
import { StoreError } from '../../store/error.ts';
import type { Store } from '../../store/interface.ts';

/** The blocks `first`..`last` of a store as the feed tells of them once they are taken off, newest first. */
export async function removedBlocks(
  store: Pick<Store, 'canonicalHash' | 'receipts' | 'diffBytes'>,
  first: number,
  last: number,
): Promise<readonly SentRemovedBlock[]> {
  const removed: SentRemovedBlock[] = [];
  for (let number = last; number >= first; number--) {
    const [parentHash, hash] = [await store.canonicalHash(number - 1), await store.canonicalHash(number)];
    const held = hash === undefined ? undefined : await store.receipts({ number, hash });
    const diff = await store.diffBytes(number);
    if (parentHash === undefined || hash === undefined || held === undefined || diff === undefined)
      throw new StoreError('corrupt', `block ${number} is missing`);
    const { logs } = held;
    // Copied: what a store gives are views of pages that are about to change.
    const copies = Array.from({ length: logs.length }, (_, index) => {
      const { transactionIndex, address, topics, data } = logs.log(index);
      return { transactionIndex, address: copy(address), topics: topics.map(copy), data: copy(data) };
    });
    const receipts = held.receipts.map(copyReceipt);
    const { timestamp, timestampMs } = logs;
    removed.push({
      ...{ number, hash, parentHash, timestamp, timestampMs, receipts },
      ...{ logs: copies, diffBytes: copy(diff) },
    });
  }
  return removed;
}

function copyReceipt(receipt: Receipt): Receipt {
  const { transactionHash, from, to, contractAddress, root, bloom } = receipt;
  return {
    ...receipt,
    ...{ transactionHash: copy(transactionHash), from: copy(from), to: to && copy(to), bloom: copy(bloom) },
    ...{ contractAddress: contractAddress && copy(contractAddress), root: root && copy(root) },
  };
}

function copy(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes);
}
