import type { IncomingHttpHeaders } from 'node:http';

/** By this request header a client names its request: log lines have the name, and the answer gives it back. */
export const REQUEST_ID_HEADER = 'x-request-id';

/** By this one it says which trace its request is part of (W3C Trace Context). */
export const TRACEPARENT_HEADER = 'traceparent';

export const MAX_REQUEST_ID_CHARS = 64;
const REQUEST_ID = /^[\w.-]+$/;

/** The name that a client gave its request. One that could be anything but a name in a log counts as none. */
export function requestIdOf(headers: IncomingHttpHeaders): string | undefined {
  // Of several, node makes one value with commas.
  const id = headers[REQUEST_ID_HEADER]?.toString();
  return id !== undefined && id.length <= MAX_REQUEST_ID_CHARS && REQUEST_ID.test(id) ? id : undefined;
}
