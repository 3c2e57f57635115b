/** One way of reaching an upstream: sends a request text, and gives back the JSON that answers it. */
export interface Transport {
  /**
   * Sends one call or batch, whose calls have these ids. Rejects with a `SourceError`, or with the signal's reason
   * once it aborts. The answer is parsed, and not looked at otherwise.
   */
  exchange(body: string, ids: readonly number[], signal: AbortSignal): Promise<unknown>;
  /** Grows whenever a connection is lost: what is asked next may reach another server. */
  readonly connection: number;
  /** Streams what the upstream announces; absent where the transport only answers. */
  readonly subscribe?: Subscribe;
  /** Gives up the present connection, if it has one; the next use makes a new one. */
  reset(): void;
  close(): void;
}

/** Listens to one kind of announcement until the signal aborts (resolves) or the connection ends (rejects). */
export type Subscribe = (
  params: readonly unknown[],
  events: { onStart(): void; onEvent(value: unknown): void },
  signal: AbortSignal,
) => Promise<void>;

export interface TransportOptions {
  readonly maxResponseBytes: number;
}
