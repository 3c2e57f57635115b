import { encodeCall, readAnswer } from '../../transport/json-rpc.ts';
import { parseJson } from '../../transport/parse-json.ts';

/** What a node says over its WebSocket. */
export type NodeMessage =
  | { readonly kind: 'block'; readonly block: unknown }
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
    return { kind: 'block', block: (params as { readonly result?: unknown } | undefined)?.result };
  }
  const answer = readAnswer(parsed.value);
  if (answer === undefined) return undefined;
  return 'error' in answer ? { kind: 'refused', reason: answer.error.message } : { kind: 'subscribed' };
}
