import type { BlockRef } from '../chain/outcome.ts';
import { keyText, type StateKey } from '../chain/state-key.ts';
import type { LoadContext, StateLoader } from '../executor/interface.ts';
import { OverloadedError, StateUnavailableError } from '../primitives/errors.ts';
import type { Store } from '../store/interface.ts';
import { storeLoader } from '../store/state-loader.ts';
import type { WorkerCommand, WorkerEvent } from './messages.ts';
import { Waiting } from './waiting.ts';

type Values = readonly (Uint8Array | undefined)[];

/** What an upstream has to be asked for: the hash of a block takes all headers that lead down to it from `at`. */
function countReads(keys: readonly StateKey[], at: number): number {
  const headers = keys.map((key) => (key.kind === 'blockHash' ? at - key.number : 0));
  return keys.filter(({ kind }) => kind !== 'blockHash').length + Math.max(0, ...headers);
}

/** State for one serving thread: its own store first, then the main thread, which alone asks upstreams and writes. */
export class RemoteState {
  readonly #store: Pick<Store, 'loadState' | 'marks'>;
  readonly #stored: StateLoader;
  readonly #say: (news: WorkerEvent) => void;
  readonly #waiting: Waiting<Values>;

  constructor(
    store: Pick<Store, 'loadState' | 'marks'>,
    timeoutMs: number,
    say: (news: WorkerEvent) => void,
  ) {
    this.#store = store;
    this.#stored = storeLoader(store);
    this.#waiting = new Waiting(timeoutMs);
    this.#say = say;
  }

  /** For the executor: what a partial copy does not know, and all that is below its anchor, is asked for. */
  readonly load: StateLoader = async (keys, number, of, context) => {
    const values = await this.#find(keys, number, of, context);
    context?.budget?.takeBytes(values);
    return values;
  };

  async #find(
    keys: readonly StateKey[],
    number: number,
    of: BlockRef | undefined,
    context: LoadContext | undefined,
  ): Promise<Values> {
    const marks = await this.#store.marks();
    const anchor = marks?.anchor.number ?? 0;
    if (number < anchor) return this.#ask(keys, { number, of, at: number }, context);
    const stored = await this.#stored(keys, number, of);
    const unknown = keys.filter((_, index) => stored[index] === undefined);
    if (unknown.length === 0) return stored;
    try {
      const found = (await this.#ask(unknown, { number, of, at: anchor }, context)).values();
      return stored.map((value) => value ?? found.next().value);
    } catch (error) {
      // The first key is needed; the others perhaps not, once it is there.
      if (!(error instanceof StateUnavailableError) || stored[0] === undefined) throw error;
      return stored;
    }
  }

  /** Asks the main thread, for as long as a request can wait and somebody waits for it. */
  #ask(
    keys: readonly StateKey[],
    { number, of, at }: { readonly number: number; readonly of: BlockRef | undefined; readonly at: number },
    context: LoadContext | undefined,
  ): Promise<Values> {
    // Code comes with its account: nobody is asked for it.
    context?.budget?.takeValues(
      countReads(
        keys.filter(({ kind }) => kind !== 'code'),
        at,
      ),
    );
    const question = { keys: keys.map(keyText).join(''), count: countReads(keys, at), number, of };
    return this.#waiting.ask({
      send: (id) => this.#say({ kind: 'load', id, ...question, client: context?.client }),
      cancel: (id) => this.#say({ kind: 'cancel', id }),
      late: 'no upstream gave the state asked for',
      signal: context?.signal,
    });
  }

  /** Takes what the main thread says. */
  hear(order: Extract<WorkerCommand, { kind: 'loaded' | 'unavailable' | 'refused' }>): void {
    const question = this.#waiting.get(order.id);
    if (order.kind === 'loaded') question?.resolve(order.values);
    else if (order.kind === 'refused') question?.reject(new OverloadedError());
    else question?.reject(new StateUnavailableError(order.reason));
  }
}
