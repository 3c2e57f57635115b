import { RpcFailure, toRpcError } from '../dispatch/error-map.ts';
import { byteLength, errorEntry } from '../dispatch/framing.ts';
import type { RpcResponse } from '../dispatch/response.ts';
import type { AccessRefusal } from '../limits/access.ts';
import { ownHeaders, type ResponseHeads } from './response-head.ts';

/** A whole answer, after which the connection is closed. */
export function wholeText(heads: ResponseHeads, answer: RpcResponse): string {
  const { status, body } = answer;
  const text = body === undefined ? '' : body.toString();
  return heads.text(status, byteLength(text), undefined, true, ownHeaders(answer, undefined)) + text;
}

/** The whole answer to an upgrade that is refused. */
export function refusalText(heads: ResponseHeads, by: AccessRefusal): string {
  const body = errorEntry('null', toRpcError(new RpcFailure({ code: 'ACCESS_REFUSED', by })));
  return heads.text(403, byteLength(body), undefined, true) + body;
}
