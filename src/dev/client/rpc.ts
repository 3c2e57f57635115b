/** One call of a batch. */
export type RpcCall = readonly [method: string, ...params: unknown[]];

interface RpcAnswer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

const TIMEOUT_MS = 10_000;

/** Asks a client we started. Its refusal is an error that names the method. */
export async function ask<T>(url: string, call: RpcCall, headers: Record<string, string> = {}): Promise<T> {
  const [method, ...params] = call;
  const answer = (await post(url, { jsonrpc: '2.0', id: 0, method, params }, headers)) as RpcAnswer;
  return resultOf(call, answer) as T;
}

/** Several calls in one request; results in their order. */
export async function askAll<T>(url: string, calls: readonly RpcCall[]): Promise<readonly T[]> {
  const answers = await askEach(url, calls);
  return calls.map((call, index) => resultOf(call, answers[index]) as T);
}

/** The same, where some may be refused. */
export async function askEach(
  url: string,
  calls: readonly RpcCall[],
): Promise<readonly (RpcAnswer | undefined)[]> {
  if (calls.length === 0) return [];
  const body = calls.map(([method, ...params], id) => ({ jsonrpc: '2.0', id, method, params }));
  const answers = (await post(url, body, {})) as readonly RpcAnswer[];
  const byId = new Map(answers.map((answer) => [answer.id, answer]));
  return calls.map((_, id) => byId.get(id));
}

function resultOf([method]: RpcCall, answer: RpcAnswer | undefined): unknown {
  if (answer === undefined) throw new Error(`${method}: no answer`);
  if (answer.error !== undefined) throw new RefusedError(`${method}: ${answer.error.message}`);
  return answer.result;
}

/** The client answered, and said no. */
export class RefusedError extends Error {}

async function post(url: string, body: unknown, headers: Record<string, string>): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return response.json();
}
