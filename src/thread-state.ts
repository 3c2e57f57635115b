import type { BlockRef } from './chain/outcome.ts';
import { keyText, type StateKey } from './chain/state-key.ts';
import type { StateLoader } from './executor/interface.ts';
import { storeLoader } from './ingest/restore.ts';
import { StateUnavailableError } from './primitives/errors.ts';
import type { ThreadNews, ThreadOrder } from './serving-thread-messages.ts';
import type { Store } from './store/interface.ts';

type Values = readonly (Uint8Array | undefined)[];

interface Question {
  readonly resolve: (values: Values) => void;
  readonly reject: (error: Error) => void;
}

/** State for one serving thread: its own store first, then the main thread, which alone asks upstreams and writes. */
export class ThreadState {
  readonly #store: Pick<Store, 'loadState' | 'marks'>;
  readonly #stored: StateLoader;
  readonly #say: (news: ThreadNews) => void;
  readonly #timeoutMs: number;
  readonly #asked = new Map<number, Question>();
  #nextId = 1;

  constructor(store: Pick<Store, 'loadState' | 'marks'>, timeoutMs: number, say: (news: ThreadNews) => void) {
    this.#store = store;
    this.#stored = storeLoader(store);
    this.#timeoutMs = timeoutMs;
    this.#say = say;
  }

  /** For the executor: what a partial copy does not know, and all that is below its anchor, is asked for. */
  readonly load: StateLoader = async (keys, number, of) => {
    const marks = await this.#store.marks();
    if (marks !== undefined && number < marks.anchor.number) return this.#ask(keys, number, of);
    const stored = await this.#stored(keys, number, of);
    const unknown = keys.filter((_, index) => stored[index] === undefined);
    if (unknown.length === 0) return stored;
    const found = (await this.#ask(unknown, number, of)).values();
    return stored.map((value) => value ?? found.next().value);
  };

  /** Asks the main thread, for as long as a request can wait. */
  #ask(keys: readonly StateKey[], number: number, of: BlockRef | undefined): Promise<Values> {
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<Values>();
    const late = (): void =>
      reject(new StateUnavailableError(`no upstream gave the state asked for within ${this.#timeoutMs} ms`));
    const timer = setTimeout(late, this.#timeoutMs);
    this.#asked.set(id, { resolve, reject });
    this.#say({ kind: 'load', id, keys: keys.map(keyText).join(''), number, of });
    return promise.finally(() => {
      clearTimeout(timer);
      this.#asked.delete(id);
    });
  }

  /** Takes what the main thread says. */
  hear(order: Extract<ThreadOrder, { kind: 'loaded' | 'unavailable' }>): void {
    const question = this.#asked.get(order.id);
    if (order.kind === 'loaded') question?.resolve(order.values);
    else question?.reject(new StateUnavailableError(order.reason));
  }
}
