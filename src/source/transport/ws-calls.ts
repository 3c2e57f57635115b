import type { SourceError } from '../errors.ts';
import type { ClientSocket } from './client-socket.ts';
import { readAnswer } from './json-rpc.ts';

/** One request text on its way; called back at once, because a frame behind the answer may depend on it. */
export interface Exchange {
  readonly ids: readonly number[];
  readonly answers: Map<number, unknown>;
  resolve(json: unknown): void;
  reject(error: Error): void;
}

export interface Connection {
  readonly socket: ClientSocket;
  readonly exchanges: Map<number, Exchange>;
  readonly subscriptions: Map<string, (value: unknown) => void>;
  readonly onClose: Set<(error: SourceError) => void>;
  /** Frames received so far, and how many of the last were garbage. */
  received: number;
  garbage: number;
  /** Ends it now: a dead peer would not take part in closing it. */
  drop(error: SourceError): void;
}

/** Brings a message to whoever waits for it; one that nobody waits for is late, and dropped. */
export function deliver(connection: Connection, json: unknown): void {
  const { method, params } = (json ?? {}) as { method?: unknown; params?: Record<string, unknown> };
  if (Array.isArray(json)) exchangeOfBatch(connection, json)?.resolve(json);
  else if (method !== 'eth_subscription') takeSingle(connection, json);
  else connection.subscriptions.get(String(params?.['subscription']))?.(params?.['result']);
}

/** The request that a batch of answers is for; a batch comes whole, whatever it leaves out. */
function exchangeOfBatch(connection: Connection, answers: readonly unknown[]): Exchange | undefined {
  for (const answer of answers) {
    const exchange = connection.exchanges.get(readAnswer(answer)?.id ?? -1);
    if (exchange !== undefined) return exchange;
  }
  return undefined;
}

/** An answer on its own: to a call on its own, to one of a batch, or (without an id) to a batch that was refused. */
function takeSingle(connection: Connection, json: unknown): void {
  const id = readAnswer(json)?.id;
  if (id === undefined) {
    const waiting = [...connection.exchanges.values()];
    (waiting.find(({ ids }) => ids.length > 1) ?? waiting[0])?.resolve(json);
    return;
  }
  const exchange = connection.exchanges.get(id);
  if (exchange === undefined) return;
  if (exchange.ids.length === 1) {
    exchange.resolve(json);
    return;
  }
  exchange.answers.set(id, json);
  if (exchange.answers.size === exchange.ids.length) exchange.resolve([...exchange.answers.values()]);
}
