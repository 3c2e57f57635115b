import type { Call } from '../support/servers/rpc-client.ts';

export type Fields = Readonly<Record<string, unknown>>;

export function asFields(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

export function paramsOf(request: Call): readonly unknown[] {
  return Array.isArray(request.params) ? request.params : [];
}

/** Where a method has its block selector; -1 for eth_getLogs, whose filter holds two. */
export function blockIndex(method: string): number {
  return blockIndexes.get(method) ?? -1;
}

const CALLS: readonly string[] = ['eth_call', 'eth_estimateGas', 'eth_createAccessList', 'debug_traceCall'];

/** Whether a method runs a call, with its block and overrides after it. */
export function runsCall(method: string): boolean {
  return CALLS.includes(method);
}

/** The overrides of a call, wherever its method has them. */
export function overridesOf(request: Call): { readonly accounts: unknown; readonly block: unknown } {
  const [, , third, fourth] = paramsOf(request);
  if (request.method !== 'debug_traceCall') return { accounts: third, block: fourth };
  const config = asFields(third);
  return { accounts: config?.['stateOverrides'], block: config?.['blockOverrides'] };
}

const blockIndexes: ReadonlyMap<string, number> = new Map([
  ...['eth_getStorageAt', 'eth_getProof'].map((name) => [name, 2] as const),
  ...[
    ...CALLS,
    'eth_getTransactionCount',
    'eth_getBalance',
    'eth_getCode',
    'eth_feeHistory',
    'eth_simulateV1',
  ].map((name) => [name, 1] as const),
  ...[
    ...['eth_getBlockReceipts', 'eth_getBlockByNumber', 'eth_getHeaderByNumber'],
    ...['eth_getBlockTransactionCountByNumber', 'eth_getTransactionByBlockNumberAndIndex'],
    'debug_traceBlockByNumber',
    ...['debug_getRawHeader', 'debug_getRawBlock', 'debug_getRawReceipts'],
  ].map((name) => [name, 0] as const),
]);

export function withParam(request: Call, at: number, value: unknown): Call {
  const params = [...paramsOf(request)];
  params[at] = value;
  return { ...request, params };
}

/** Whether any field or element at any depth is as `test` says. */
export function holds(request: Call, test: (key: string, value: unknown) => boolean): boolean {
  const search = (value: unknown): boolean =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(value).some(([key, inner]) => test(key, inner) || search(inner));
  return search(request.params);
}
