import type { Log } from '../chain/log.ts';
import type { Receipt, ReceiptExtra } from '../chain/receipt.ts';
import { toHex } from '../primitives/hex.ts';
import { toQuantity } from '../primitives/parse.ts';
import type { BlockLogs } from '../store/interface.ts';

/** Fields in the order geth serves them, so that answers compare byte for byte. */
export function renderLog(block: BlockLogs, index: number, log: Log = block.log(index)): string {
  let topics = '';
  for (const topic of log.topics) topics += topics === '' ? `"${toHex(topic)}"` : `,"${toHex(topic)}"`;
  return (
    `{"address":"${toHex(log.address)}","topics":[${topics}],"data":"${toHex(log.data)}",` +
    `"blockNumber":"${toQuantity(block.number)}",` +
    `"transactionHash":"${toHex(block.transactionHash(log.transactionIndex))}",` +
    `"transactionIndex":"${toQuantity(log.transactionIndex)}","blockHash":"${block.hash}",` +
    `"blockTimestamp":"${toQuantity(block.timestamp)}",${milliseconds(block)}"logIndex":"${toQuantity(index)}","removed":false}`
  );
}

function milliseconds({ timestampMs }: BlockLogs): string {
  return timestampMs === undefined ? '' : `"blockTimestampMs":"${toQuantity(timestampMs)}",`;
}

/** Renders one receipt; `logs` is the JSON array of its logs. Keys are in alphabetical order, as geth's. */
export function renderReceipt(block: BlockLogs, index: number, receipt: Receipt, logs: string): string {
  const extra = (name: ReceiptExtra): string => {
    const found = receipt.extras.find(([key]) => key === name);
    return found === undefined ? '' : `"${name}":"${toQuantity(found[1])}",`;
  };
  const outcome =
    receipt.root === undefined
      ? `"status":"${toQuantity(receipt.status ?? 0)}"`
      : `"root":"${toHex(receipt.root)}"`;
  return (
    `{${extra('blobGasPrice')}${extra('blobGasUsed')}"blockHash":"${block.hash}",` +
    `"blockNumber":"${toQuantity(block.number)}",` +
    `"contractAddress":${hexOrNull(receipt.contractAddress)},` +
    `"cumulativeGasUsed":"${toQuantity(receipt.cumulativeGasUsed)}",` +
    `${extra('daFootprintGasScalar')}${extra('depositNonce')}${extra('depositReceiptVersion')}` +
    `"effectiveGasPrice":"${toQuantity(receipt.effectiveGasPrice)}","from":"${toHex(receipt.from)}",` +
    `"gasUsed":"${toQuantity(receipt.gasUsed)}",` +
    `${extra('l1BaseFeeScalar')}${extra('l1BlobBaseFee')}${extra('l1BlobBaseFeeScalar')}${extra('l1Fee')}` +
    `${extra('l1GasPrice')}${extra('l1GasUsed')}"logs":${logs},"logsBloom":"${toHex(receipt.bloom)}",` +
    `${extra('operatorFeeConstant')}${extra('operatorFeeScalar')}${outcome},"to":${hexOrNull(receipt.to)},` +
    `"transactionHash":"${toHex(receipt.transactionHash)}","transactionIndex":"${toQuantity(index)}",` +
    `"type":"${toQuantity(receipt.type)}"}`
  );
}

function hexOrNull(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? 'null' : `"${toHex(bytes)}"`;
}
