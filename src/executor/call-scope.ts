import type { LoadContext } from './interface.ts';

/** The life of a call that does not end at once: until its time is up, or until nobody waits for it. */
export class CallScope {
  /** Told when nobody waits for the call any more. */
  onCancel: (() => void) | undefined;
  /** For loading on behalf of the call, which ends with it; undefined when it is the node's own. */
  readonly context: LoadContext | undefined;
  /** With whom it shares its turns in the pool. */
  readonly client: string;
  readonly #deadline: number;
  readonly #timer: NodeJS.Timeout;
  readonly #client: AbortSignal | undefined;
  readonly #over = new AbortController();

  constructor(timeLimitMs: number, context: LoadContext | undefined) {
    this.#deadline = performance.now() + timeLimitMs;
    this.#timer = setTimeout(this.#onTimeout, timeLimitMs);
    this.client = context?.client ?? '';
    this.#client = context?.signal;
    this.context = context && {
      client: context.client,
      budget: context.budget,
      signal: this.#over.signal,
    };
    if (this.#client?.aborted === true) this.#onAbort();
    else this.#client?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Why the call has ended, in the native core's words; undefined while it has not. */
  get ended(): 'c' | 't' | undefined {
    if (this.#client?.aborted === true) return 'c';
    // A timer may fire a little before its time by the other clock.
    return this.#over.signal.aborted || this.millisecondsLeft === 0 ? 't' : undefined;
  }

  get millisecondsLeft(): number {
    return Math.max(0, Math.ceil(this.#deadline - performance.now()));
  }

  /** Leaves nothing behind: the client's connection may serve on for long. */
  close(): void {
    clearTimeout(this.#timer);
    this.#client?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onTimeout = (): void => {
    // The native core looks at the clock itself, and says so.
    this.#over.abort();
  };

  readonly #onAbort = (): void => {
    this.onCancel?.();
    this.#over.abort();
  };
}
