import { encodeCall, readAnswer } from '../../transport/json-rpc.ts';
import { parseJson } from '../../transport/parse-json.ts';

/** Which flashblock a whole block is of, as the node that tells of it counts them. */
export interface FlashblockPlace {
  readonly payloadId: string;
  readonly index: number;
}

/** What a node says over its WebSocket. */
export type NodeMessage =
  | { readonly kind: 'block'; readonly block: unknown; readonly place: FlashblockPlace | undefined }
  | { readonly kind: 'subscribed' }
  | { readonly kind: 'refused'; readonly reason: string };

/** Asks a node for the whole block at each flashblock. */
export const SUBSCRIBE = encodeCall(1, 'eth_subscribe', ['newFlashblocks']);

/** Reads one message of a node; nothing when it is none. */
export function readNodeMessage(text: string, maxChars: number): NodeMessage | undefined {
  const parsed = parseJson(text, maxChars);
  if (!('value' in parsed) || typeof parsed.value !== 'object' || parsed.value === null) return undefined;
  const { jsonrpc, method, params } = parsed.value as Readonly<Record<string, unknown>>;
  if (jsonrpc !== '2.0') return undefined;
  if (method === 'eth_subscription') {
    const told = params as { readonly result?: unknown; readonly flashblock?: unknown } | undefined;
    return { kind: 'block', block: told?.result, place: readPlace(told?.flashblock) };
  }
  const answer = readAnswer(parsed.value);
  if (answer === undefined) return undefined;
  return 'error' in answer ? { kind: 'refused', reason: answer.error.message } : { kind: 'subscribed' };
}

/** Nothing where a node does not say it, as most do not. */
function readPlace(value: unknown): FlashblockPlace | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { payloadId, index } = value as Readonly<Record<string, unknown>>;
  const isPlace = typeof payloadId === 'string' && Number.isSafeInteger(index) && Number(index) >= 0;
  return isPlace ? { payloadId, index: Number(index) } : undefined;
}
