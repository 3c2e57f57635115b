import { type NativeView, native } from '@chain-query/native';
import type { BlockRef } from '../chain/outcome.ts';
import { andThen } from '../primitives/awaitable.ts';
import { StateUnavailableError } from '../primitives/errors.ts';
import type { Awaitable, Hex } from '../primitives/hex.ts';
import type { CallRequest, CallResult, StateLoader, StateView } from './interface.ts';
import { supply } from './missing.ts';

export interface ViewOptions {
  /** Steps a call may take on the serving thread. */
  readonly callInlineSteps: number;
  readonly callTimeLimitMs: number;
}

/** Rounds of loading what is missing; each finds new keys, so a call that needs more is beyond reason. */
const MAX_ROUNDS = 1_024;
/** How often a block may leave hot state under one answer. */
const MAX_REOPENS = 8;

type Answer = string;
type Ask = (view: NativeView) => Awaitable<Answer>;
/** Asked before each further run; an answer ends it. Within a run the native core watches for itself. */
type Stop = () => Answer | undefined;

/** State after one block, or after one flashblock, on the native core: runs, loads what was missing, and runs again. */
export class NativeStateView implements StateView {
  readonly ref: BlockRef;
  readonly timestamp: number;
  /** The block that has to be canonical for an answer: this one, or the one below all that is pre-confirmed. */
  readonly #standsOn: BlockRef;
  readonly #options: ViewOptions;
  readonly #load: StateLoader;
  /** Opens the block anew once it has left hot state, where that can be done. */
  readonly #reopen: (() => NativeView) | undefined;
  #view: NativeView;

  constructor(
    view: NativeView,
    options: ViewOptions,
    load: StateLoader,
    by: { readonly reopen: () => NativeView } | { readonly standsOn: BlockRef },
  ) {
    this.#view = view;
    this.#options = options;
    this.#load = load;
    this.ref = { number: view.number, hash: view.hash as Hex };
    this.#reopen = 'reopen' in by ? by.reopen : undefined;
    this.#standsOn = 'standsOn' in by ? by.standsOn : this.ref;
    this.timestamp = view.timestamp;
  }

  transactionCount(address: Hex): Awaitable<Hex> {
    return andThen(
      this.#ask((view) => view.nonce(address)),
      hexOf,
    );
  }

  account(address: Hex): Awaitable<{ readonly nonce: Hex; readonly balance: Hex }> {
    return andThen(
      this.#ask((view) => view.account(address)),
      (answer) => {
        const [nonce, balance] = answer.slice(1).split(',');
        return { nonce: nonce as Hex, balance: balance as Hex };
      },
    );
  }

  storageAt(address: Hex, slot: Hex): Awaitable<Hex> {
    return andThen(
      this.#ask((view) => view.storage(address, slot)),
      hexOf,
    );
  }

  call(request: CallRequest, signal?: AbortSignal): Awaitable<CallResult> {
    const { from, to, gas, data, ...rest } = request;
    const options = isEmpty(rest) ? undefined : JSON.stringify(rest);
    const { callInlineSteps, callTimeLimitMs } = this.#options;
    // The clock starts when it is first looked at: most calls end in their first run and never do.
    let deadline: number | undefined;
    const millisecondsLeft = (): number => {
      deadline ??= performance.now() + callTimeLimitMs;
      return Math.max(0, Math.ceil(deadline - performance.now()));
    };
    const stop: Stop = () => {
      if (signal?.aborted === true) return 'c';
      return millisecondsLeft() === 0 ? 't' : undefined;
    };
    const inline = this.#ask((view) => view.call(from, to, gas, data, options, callInlineSteps), stop);
    return andThen(inline, (answer) => {
      if (answer !== 'b') return callResult(answer);
      if (signal?.aborted === true) return { kind: 'cancelled' };
      const cancel = new native.NativeCancel();
      const onAbort = (): void => cancel.cancel();
      signal?.addEventListener('abort', onAbort, { once: true });
      const pooled = this.#ask(
        (view) => view.callPooled(from, to, gas, data, options, millisecondsLeft(), cancel),
        stop,
      );
      return Promise.resolve(pooled)
        .then(callResult)
        .finally(() => signal?.removeEventListener('abort', onAbort));
    });
  }

  /** Asks until nothing is missing. Synchronous as long as everything is in memory. */
  #ask(ask: Ask, stop?: Stop): Awaitable<Answer> {
    const view = this.#view;
    return andThen(ask(view), (answer) =>
      isFinal(answer) ? answer : this.#askAgain(ask, { view, answer }, stop),
    );
  }

  async #askAgain(
    ask: Ask,
    first: { readonly view: NativeView; readonly answer: Answer },
    stop: Stop | undefined,
  ): Promise<Answer> {
    let { view, answer } = first;
    let reopens = 0;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      if (answer === 'o') {
        if (this.#reopen === undefined) throw new StateUnavailableError('the block below was taken off');
        if (++reopens > MAX_REOPENS) throw new StateUnavailableError('the block keeps leaving memory');
        // Another call may have opened it again meanwhile, and loaded what this one needs too.
        if (this.#view === view) this.#view = this.#reopen();
      } else {
        await this.#provide(view, answer.slice(1));
      }
      const ended = stop?.();
      if (ended !== undefined) return ended;
      view = this.#view;
      answer = await ask(view);
      if (isFinal(answer)) return answer;
    }
    throw new StateUnavailableError(`not complete after ${MAX_ROUNDS} rounds of loading`);
  }

  async #provide(view: NativeView, missing: string): Promise<void> {
    await supply(view, missing, (keys, asOf) => this.#load(keys, asOf, this.#standsOn));
  }
}

function isFinal(answer: Answer): boolean {
  const tag = answer.charCodeAt(0);
  return tag !== 0x6d /* m */ && tag !== 0x6f /* o */;
}

function hexOf(answer: Answer): Hex {
  return answer.slice(1) as Hex;
}

function isEmpty(object: object): boolean {
  for (const _ in object) return false;
  return true;
}

function callResult(answer: Answer): CallResult {
  const rest = answer.slice(1);
  switch (answer.charAt(0)) {
    case '=':
      return { kind: 'success', output: rest as Hex };
    case 'r':
      return { kind: 'revert', output: rest as Hex };
    case 'h':
      return { kind: 'halt', message: rest };
    case 'i':
      return { kind: 'invalid', message: rest };
    case 't':
      return { kind: 'timeout' };
    case 'c':
      return { kind: 'cancelled' };
    case 'f':
      return { kind: 'overloaded' };
    default:
      throw new Error(`the native core gave an unknown answer: ${answer.slice(0, 32)}`);
  }
}
