import { setTimeout as pause } from 'node:timers/promises';

/** What a server said about one request. `data` is only there when the server sent it. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export type Answer = { readonly result: unknown } | { readonly error: RpcError };

export interface Call {
  readonly method: string;
  readonly params?: unknown;
}

interface Entry {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: RpcError;
}

/** Longer than any answer takes, and short enough for a run to say which server hangs. */
const answerDeadlineMs = 60_000;
/** How often a server is asked again that is about to have the answer, and after what time. */
const indexingTries = 50;
const indexingMs = 20;

async function exchange(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly body: unknown; readonly headers: Headers }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    signal: AbortSignal.timeout(answerDeadlineMs),
  }).catch((cause: unknown) => {
    throw new Error(`${url} did not answer ${body.slice(0, 200)}: ${String(cause)}`, { cause });
  });
  const text = await response.text();
  try {
    return { body: JSON.parse(text), headers: response.headers };
  } catch (cause) {
    throw new Error(`${url} answered ${response.status} with what is not JSON: ${text.slice(0, 300)}`, {
      cause,
    });
  }
}

async function post(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  return (await exchange(url, body, headers)).body;
}

function toAnswer(entry: Entry): Answer {
  return entry.error === undefined ? { result: entry.result } : { error: entry.error };
}

/** Sends raw JSON text and gives the parsed response, so that what is sent can be anything at all. */
export function sendText(url: string, body: string): Promise<unknown> {
  return post(url, body);
}

/** What geth says of logs for moments while its index takes a block in: it is no answer. */
const isIndexing = (answer: Answer): boolean =>
  'error' in answer && answer.error.message.startsWith('failed to retrieve log value pointer');

/** One batch; answers come back in the order of the calls whatever order the server chose. */
export async function sendBatch(url: string, calls: readonly Call[]): Promise<readonly Answer[]> {
  const { answers } = await sendBatchNoting(url, calls);
  return Promise.all(calls.map((call, at) => indexed(url, call, answers[at])));
}

/** The answer, once its server has one. */
async function indexed(url: string, call: Call, first: Answer | undefined): Promise<Answer> {
  let answer = first ?? (await send(url, call));
  for (let tries = 0; isIndexing(answer) && tries < indexingTries; tries++) {
    await pause(indexingMs);
    answer = await send(url, call);
  }
  return answer;
}

/** A batch, with what the server said about it in its headers. */
export async function sendBatchNoting(
  url: string,
  calls: readonly Call[],
  requestHeaders: Readonly<Record<string, string>> = {},
): Promise<{ readonly answers: readonly Answer[]; readonly headers: Headers }> {
  const text = JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })));
  const { body: entries, headers } = await exchange(url, text, requestHeaders);
  if (!Array.isArray(entries)) throw new Error(`${url} answered a batch with ${JSON.stringify(entries)}`);
  const byId = new Map(entries.map((entry: Entry) => [entry.id, toAnswer(entry)]));
  const answers = calls.map((call, id) => {
    const answer = byId.get(id);
    if (answer === undefined) throw new Error(`${url} left out ${JSON.stringify(call)}`);
    return answer;
  });
  return { answers, headers };
}

export async function send(
  url: string,
  call: Call,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const entry = await post(url, JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }), headers);
  return toAnswer(entry as Entry);
}

/** The result of a call that must succeed. */
export async function request<T>(url: string, method: string, params: readonly unknown[] = []): Promise<T> {
  const answer = await send(url, { method, params });
  if ('error' in answer) throw new Error(`${method} failed: ${JSON.stringify(answer.error)}`);
  return answer.result as T;
}
