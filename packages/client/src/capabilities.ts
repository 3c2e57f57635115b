import {
  BaseError,
  type Client,
  HttpRequestError,
  MethodNotFoundRpcError,
  MethodNotSupportedRpcError,
  RpcRequestError,
} from 'viem';

/** What a node may offer beyond plain JSON-RPC, and what is done where it does not. */
export const CAPABILITIES = {
  forwardReads: 'reads may go backwards behind a load balancer',
  pendingLogs: 'watching tells of logs once they are confirmed, not when they are pre-confirmed',
  resume: 'watching polls eth_getLogs: later and at a higher cost, but exactly once',
  cursor: 'pages of logs are ranges of blocks; a reorg between two pages goes unnoticed',
  sendSync: 'sending is followed by polling for the receipt',
} as const;

export type Capability = keyof typeof CAPABILITIES;

export interface Capabilities extends Readonly<Record<Capability, boolean>> {
  /** What the node lacks, and what that means for this client. */
  readonly lost: readonly { readonly capability: Capability; readonly meaning: string }[];
}

interface OpenRpc {
  readonly info?: { readonly title?: string };
  readonly methods?: readonly {
    readonly name: string;
    readonly params?: readonly { readonly schema?: { readonly enum?: readonly string[] } }[];
  }[];
}

/** Of an endpoint that knows neither the method nor JSON-RPC errors. */
const REFUSALS: readonly number[] = [400, 403, 404, 405];

const known = /*#__PURE__*/ new WeakMap<Client, Promise<Capabilities>>();

/** What the client's node offers; asked once. A node that does not describe itself offers none of it. */
export function getCapabilities(client: Client): Promise<Capabilities> {
  let asked = known.get(client);
  if (asked === undefined) {
    asked = ask(client);
    known.set(client, asked);
    // A node that could not be asked is asked again.
    asked.catch(() => known.delete(client));
  }
  return asked;
}

async function ask(client: Client): Promise<Capabilities> {
  const request = client.request as unknown as (body: { method: string; params: [] }) => Promise<OpenRpc>;
  const document: OpenRpc = await request({ method: 'rpc.discover', params: [] }).catch((error: unknown) => {
    if (isRefusal(error)) return {};
    throw error;
  });
  const isOurs = document.info?.title === 'Chain Query';
  const method = (name: string) => document.methods?.find((one) => one.name === name);
  const kinds = method('eth_subscribe')?.params?.[0]?.schema?.enum ?? [];
  const offered: Record<Capability, boolean> = {
    forwardReads: isOurs && (client.transport as { position?: unknown }).position !== undefined,
    pendingLogs: isOurs && kinds.includes('pendingLogs'),
    resume: isOurs && kinds.includes('logs'),
    cursor: method('eth_getLogsWithCursor') !== undefined,
    sendSync: method('eth_sendRawTransactionSync') !== undefined,
  };
  const names = Object.keys(CAPABILITIES) as Capability[];
  const lost = names.filter((name) => !offered[name]);
  return { ...offered, lost: lost.map((capability) => ({ capability, meaning: CAPABILITIES[capability] })) };
}

/** Whether a node answered with an error: it is there, and does not do what was asked. */
export function isRefusal(error: unknown): boolean {
  const refuses = (inner: unknown): boolean =>
    inner instanceof RpcRequestError ||
    (inner instanceof HttpRequestError && REFUSALS.includes(inner.status ?? 0));
  return error instanceof BaseError && error.walk(refuses) !== null;
}

/** Whether a node does not have a method at all. */
export function isMissingMethod(error: unknown): boolean {
  const isMissing = (inner: unknown): boolean =>
    inner instanceof MethodNotFoundRpcError || inner instanceof MethodNotSupportedRpcError;
  return error instanceof BaseError && error.walk(isMissing) !== null;
}
