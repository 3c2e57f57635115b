import type { Chain, Client, Transport } from 'viem';
import {
  type SendRawTransactionSyncParameters,
  type SendRawTransactionSyncReturnType,
  sendRawTransaction,
  sendRawTransactionSync,
  waitForTransactionReceipt,
} from 'viem/actions';
import { isMissingMethod } from './capabilities.ts';

/**
 * Sends a signed transaction and gives its receipt, on our nodes as soon as it is pre-confirmed. Where the node does not have
 * `eth_sendRawTransactionSync`, it is sent and polled for: nothing is sent twice, as such a node has not taken it.
 */
export async function sendSync<chain extends Chain | undefined>(
  client: Client<Transport, chain>,
  parameters: SendRawTransactionSyncParameters,
): Promise<SendRawTransactionSyncReturnType<chain>> {
  try {
    return await sendRawTransactionSync(client, parameters);
  } catch (error) {
    if (!isMissingMethod(error)) throw error;
  }
  const { serializedTransaction, timeout } = parameters;
  const hash = await sendRawTransaction(client, { serializedTransaction });
  return waitForTransactionReceipt(client, { hash, ...(timeout === undefined ? {} : { timeout }) });
}
