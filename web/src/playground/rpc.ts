/** One call and what came of it. */
export interface Exchange {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly status: number;
  readonly ms: number;
  readonly bytes: number;
  readonly head: string | null;
  readonly pending: string | null;
  readonly source: string | null;
  readonly text: string;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface Place {
  readonly endpoint: string;
  readonly key: string;
}

/** Asks an endpoint of the node, by way of the listener that this page is from. */
export async function call(place: Place, method: string, params: readonly unknown[]): Promise<Exchange> {
  const began = performance.now();
  const response = await fetch(`/rpc/${place.endpoint}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(place.key !== '' && { 'x-api-key': place.key }) },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const text = await response.text();
  const ms = performance.now() - began;
  const { headers, status } = response;
  const answer = parse(text);
  return {
    ...{ method, params, status, ms, text, bytes: text.length },
    head: headers.get('x-chain-head'),
    pending: headers.get('x-chain-pending'),
    source: headers.get('x-chain-source'),
    ...('result' in answer && { result: answer.result }),
    ...(answer.error !== undefined && { error: answer.error }),
  };
}

function parse(text: string): Pick<Exchange, 'result' | 'error'> {
  try {
    return JSON.parse(text) as Pick<Exchange, 'result' | 'error'>;
  } catch {
    return { error: { code: 0, message: text.trim() || 'an empty answer' } };
  }
}

/** A method as `rpc.discover` describes it. */
export interface MethodDoc {
  readonly name: string;
  readonly summary: string;
  readonly params: readonly {
    readonly name: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: unknown;
  }[];
}

/** Every method of an endpoint. */
export async function discover(place: Place): Promise<readonly MethodDoc[]> {
  const { result, error } = await call(place, 'rpc.discover', []);
  if (error !== undefined) throw new Error(error.message);
  return (result as { readonly methods: readonly MethodDoc[] }).methods.toSorted((a, b) =>
    a.name.localeCompare(b.name),
  );
}
