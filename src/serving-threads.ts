import { Worker } from 'node:worker_threads';
import type { StateLoader } from './executor/interface.ts';
import { readKeys } from './executor/missing.ts';
import type { FeedItem } from './feed/interface.ts';
import { StateUnavailableError } from './primitives/errors.ts';
import type { StateQuestion, ThreadData, ThreadNews, ThreadOrder } from './serving-thread-messages.ts';

export interface ThreadModules {
  /** Finds state that the thread's own store does not know. */
  readonly load: StateLoader;
  readonly onFailure: (error: Error) => void;
}

interface Waiting {
  readonly kind: ThreadNews['kind'];
  readonly resolve: (news: ThreadNews) => void;
  readonly reject: (error: Error) => void;
}

/** A worker thread that serves, as the main thread sees it. */
export class ServingThread {
  readonly listening: Promise<ThreadData['endpoints']>;
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  readonly #waiting = new Set<Waiting>();
  #closing = false;
  /** Set once it has ended, for whatever reason. */
  #end: Error | undefined;

  constructor(data: ThreadData, { load, onFailure }: ThreadModules) {
    // The compiled program runs the compiled file.
    const file = import.meta.url.endsWith('.ts') ? './serving-thread.ts' : './serving-thread.js';
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData: data });
    let cause: unknown;
    this.#worker.on('error', (error) => {
      cause = error;
    });
    this.#worker.on('message', (news: ThreadNews) => {
      if (news.kind === 'load') void this.#answer(news, load);
      else for (const waiting of this.#waiting) if (waiting.kind === news.kind) waiting.resolve(news);
    });
    this.#exited = new Promise((resolve) => this.#worker.on('exit', resolve));
    this.#worker.on('exit', () => {
      const end = new Error('a serving thread ended', { cause });
      this.#end = end;
      for (const waiting of this.#waiting) waiting.reject(end);
      if (!this.#closing) onFailure(end);
    });
    this.listening = this.#next('listening').then((news) => news.endpoints);
  }

  async metrics(): Promise<unknown> {
    const answer = this.#next('metrics');
    this.#say({ kind: 'metrics' });
    return (await answer).metrics;
  }

  /** Tells the thread of the next item of the feed. */
  feed(sequence: number, item: FeedItem): void {
    this.#say({ kind: 'feed', sequence, item });
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#say({ kind: 'close' });
    await this.#exited;
  }

  async #answer({ id, keys, number, of }: StateQuestion & { readonly id: number }, load: StateLoader) {
    try {
      const values = await load(readKeys(keys), number, of);
      // Copied, so that no more than the values themselves is sent.
      this.#say({ kind: 'loaded', id, values: values.map((value) => value && Uint8Array.from(value)) });
    } catch (error) {
      // Upstreams and their words are for the log, not for clients.
      const reason =
        error instanceof StateUnavailableError ? error.type.reason : 'no upstream gave the state asked for';
      this.#say({ kind: 'unavailable', id, reason });
    }
  }

  #say(order: ThreadOrder): void {
    this.#worker.postMessage(order);
  }

  async #next<K extends ThreadNews['kind']>(kind: K): Promise<Extract<ThreadNews, { kind: K }>> {
    if (this.#end !== undefined) throw this.#end;
    const { promise, resolve, reject } = Promise.withResolvers<ThreadNews>();
    const waiting = { kind, resolve, reject };
    this.#waiting.add(waiting);
    try {
      return (await promise) as Extract<ThreadNews, { kind: K }>;
    } finally {
      this.#waiting.delete(waiting);
    }
  }
}
