/** Statuses that a request body alone can lead to. */
const STATUSES = new Set([200, 204, 403, 413, 503]);

/** What is wrong with a response to some body, in words; undefined when JSON-RPC 2.0 would accept it. */
export function findFault(status: number, text: string): string | undefined {
  if (!STATUSES.has(status)) return `status ${status}`;
  if (status === 204) return text === '' ? undefined : 'content with status 204';
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return 'the response is not JSON';
  }
  if (!Array.isArray(parsed)) return findEntryFault(parsed);
  if (parsed.length === 0) return 'an empty batch response';
  return parsed.map(findEntryFault).find((fault) => fault !== undefined);
}

function findEntryFault(entry: unknown): string | undefined {
  if (typeof entry !== 'object' || entry === null) return 'an entry that is no object';
  const { jsonrpc, id, error, ...rest } = entry as Record<string, unknown>;
  if (jsonrpc !== '2.0') return 'an entry without its version';
  if (id !== null && typeof id !== 'string' && typeof id !== 'number') return 'an entry without an id';
  if (error === undefined) return 'result' in rest ? undefined : 'neither result nor error';
  if ('result' in rest) return 'both result and error';
  if (typeof error !== 'object' || error === null) return 'an error that is no object';
  const { code, message } = error as Record<string, unknown>;
  if (!Number.isInteger(code)) return 'an error without a code';
  if (typeof message !== 'string' || message === '') return 'an error without a message';
  // Of a simulated call that no block could have this is the standard's own code, with what is wrong with it.
  const isRefusedCall = /^err: .* \(supplied gas \d+\)$/.test(message);
  if ((code === -32603 && !isRefusedCall) || message === 'resource unavailable')
    return 'a failure that nobody expected';
  if (message.length > 1_000) return 'an error that echoes too much';
  return undefined;
}

/** The source text of the id of a single valid request, found in another way than the server finds it. */
function expectedId(body: Buffer): string | undefined {
  const sources = new Map<unknown, string | undefined>();
  let request: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    request = JSON.parse(text, function (this: unknown, key, value, context?: { source?: string }) {
      if (key === 'id') sources.set(this, context?.source);
      return value;
    });
  } catch {
    return undefined;
  }
  if (typeof request !== 'object' || request === null || Array.isArray(request)) return undefined;
  const { jsonrpc, method } = request as Record<string, unknown>;
  return jsonrpc === '2.0' && typeof method === 'string' && method !== '' ? sources.get(request) : undefined;
}

/** Whether a response echoes the id of the request byte for byte, where the request has one. */
export function findEchoFault(body: Buffer, text: string): string | undefined {
  const id = expectedId(body);
  // Booleans are values with a source too, and no ids.
  if (id === undefined || id === 'true' || id === 'false') return undefined;
  // What is refused before it is parsed has no id that the server could know.
  if (text.includes('"message":"parse error: nested deeper')) return undefined;
  return text.startsWith(`{"jsonrpc":"2.0","id":${id},"`) ? undefined : `the id ${id} is not echoed`;
}
