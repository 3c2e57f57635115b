import type { RpcError } from './error-map.ts';
import { type Call, errorEntry, joinBatch, type ResponseBody } from './framing.ts';
import type { RpcResponse } from './response.ts';
import type { Message } from './task.ts';

/** The same error for all of a request. */
export function refused(message: Message, error: RpcError, snapshot: RpcResponse['snapshot']): RpcResponse {
  const body =
    'method' in message ? entryOf(message, error) : joinBatch(message.map((call) => entryOf(call, error)));
  const { status = 200, retryAfter } = error;
  return { status: body === undefined ? 204 : status, body, snapshot, retryAfter };
}

/** The entry of a call that ends in an error; one that was no call has its own. */
export function entryOf(call: Call | RpcError, error: RpcError): ResponseBody | undefined {
  if ('code' in call) return errorEntry('null', call);
  return call.id === undefined ? undefined : errorEntry(call.id, error);
}
