import { boundedWaitMs, SourceError, type SourceErrorCode } from '../errors.ts';

/** What a server said about one call. */
export interface UpstreamRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export type RpcAnswer =
  | { readonly id: number | undefined; readonly result: unknown }
  | { readonly id: number | undefined; readonly error: UpstreamRpcError };

/** The text of one call. */
export function encodeCall(id: number, method: string, params: readonly unknown[]): string {
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${JSON.stringify(params)}}`;
}

/** Reads one answer; `undefined` when it is none. */
export function readAnswer(value: unknown): RpcAnswer | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { id: rawId, result, error } = value as Record<string, unknown>;
  // Some servers give every id back as text.
  const number = typeof rawId === 'string' || typeof rawId === 'number' ? Number(rawId) : Number.NaN;
  const id = Number.isSafeInteger(number) ? number : undefined;
  if (error !== undefined && error !== null) return { id, error: readError(error) };
  return result === undefined ? undefined : { id, result };
}

function readError(error: unknown): UpstreamRpcError {
  if (typeof error !== 'object' || error === null) return { code: 0, message: String(error) };
  const { code, message, data } = error as Record<string, unknown>;
  return { code: Number(code) || 0, message: typeof message === 'string' ? message : '', data };
}

/** Codes that mean one thing everywhere, before words are looked at. */
const BY_CODE: ReadonlyMap<number, SourceErrorCode> = new Map([
  [-32601, 'unsupported'],
  [-32004, 'unsupported'],
  [-32005, 'rateLimited'],
  [429, 'rateLimited'],
  // EIP-1474 'resource not found', and the Engine API's 'unknown block' that geth gives for absent safe blocks.
  [-32001, 'unknownBlock'],
  [-39001, 'unknownBlock'],
]);

/** Servers agree on few codes, so their words decide: geth, reth, nethermind, erigon, anvil, and public providers. */
const BY_WORDS: readonly (readonly [RegExp, SourceErrorCode])[] = [
  [/rate.?limit|too many requests|throughput|quota|requests per second|compute units/i, 'rateLimited'],
  [/response (?:size|is )?\s*(?:too large|exceed)|result too (?:large|big)/i, 'tooLarge'],
  [
    /historical state|missing trie node|pruned|BlockOutOfRange|archive|state .*(?:not|un)\s?available|old data/i,
    'stateUnavailable',
  ],
  [
    /(?:header|block|resource)\b.*\bnot found|unknown block|not currently canonical|could not find block/i,
    'unknownBlock',
  ],
  [
    /method\b.*\bnot (?:found|available|supported|allowed|enabled|whitelisted)|does not exist\/is not|unsupported method/i,
    'unsupported',
  ],
];

/** The request itself is at fault; anything else that is not understood may pass. */
const FINAL_CODES: ReadonlySet<number> = new Set([-32600, -32602, -32700]);

/** What a server's error means for us. */
export function classify(error: UpstreamRpcError): {
  readonly code: SourceErrorCode;
  readonly retryAfterMs?: number;
} {
  const code =
    BY_WORDS.find(([words]) => words.test(error.message))?.[1] ??
    BY_CODE.get(error.code) ??
    (FINAL_CODES.has(error.code) ? 'refused' : 'overloaded');
  const retryAfterMs = code === 'rateLimited' ? readWait(error) : undefined;
  return retryAfterMs === undefined ? { code } : { code, retryAfterMs };
}

const WAIT = /again in["\s:]*([\d.]+)\s*(ms|s|m)\b/i;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** How long a rate limit asks to wait, in the two forms providers have for it. */
function readWait({ message, data }: UpstreamRpcError): number | undefined {
  const seconds = (data as { rate?: { backoff_seconds?: unknown } } | null | undefined)?.rate
    ?.backoff_seconds;
  if (typeof seconds === 'number' && seconds >= 0) return boundedWaitMs(seconds * 1_000);
  const match = WAIT.exec(message);
  if (match === null) return undefined;
  return boundedWaitMs(Number(match[1]) * (UNIT_MS[match[2]?.toLowerCase() ?? ''] ?? 1));
}

/** A server's error as ours; its words are shown as far as the endpoint's `scrub` lets them through. */
export function toSourceError(
  error: UpstreamRpcError,
  endpoint: { readonly name: string; scrub(text: string): string },
): SourceError {
  const said = endpoint.scrub(error.message);
  return new SourceError(
    { ...classify(error), upstream: endpoint.name },
    `${endpoint.name}: ${said} (${error.code})`,
  );
}

/** False for one error that stands for the whole batch: geth sends it as a list of one, others on its own. */
export function isAnswerToBatch(
  answers: RpcAnswer | undefined | readonly (RpcAnswer | undefined)[],
): answers is readonly (RpcAnswer | undefined)[] {
  if (!Array.isArray(answers)) return false;
  const [only] = answers as readonly (RpcAnswer | undefined)[];
  return (
    answers.length !== 1 ||
    only === undefined ||
    !('error' in only) ||
    classify(only.error).code !== 'refused'
  );
}
