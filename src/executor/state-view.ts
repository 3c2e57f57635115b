import { setImmediate as nextTurn } from 'node:timers/promises';
import { type NativeView, native } from '@chain-query/native';
import type { BlockRef } from '../chain/outcome.ts';
import type { StateKey } from '../chain/state-key.ts';
import { andThen } from '../primitives/awaitable.ts';
import { StateUnavailableError, TakenOffError } from '../primitives/errors.ts';
import type { Awaitable, Hex } from '../primitives/hex.ts';
import { own } from '../primitives/owned-bytes.ts';
import { CallScope } from './call-scope.ts';
import { asOverloaded } from './errors.ts';
import { inlineShare } from './inline-share.ts';
import type {
  CallRequest,
  CallResult,
  HeldStateView,
  LoadContext,
  Query,
  QueryResult,
  SimulationRequest,
  SimulationResult,
  StateLoader,
  Traced,
  TraceOptions,
} from './interface.ts';
import { supply } from './missing.ts';
import { simulationResult } from './simulation-result.ts';
import type { StateTries } from './tries/state-tries.ts';
import { unfinished } from './unfinished.ts';

export interface ViewOptions {
  /** Steps a call may take on the serving thread. */
  readonly callInlineSteps: number;
  readonly callTimeLimitMs: number;
  readonly simulateTimeLimitMs: number;
}

/** Rounds of loading what is missing; each finds new keys, so a call that needs more is beyond reason. */
const MAX_ROUNDS = 1_024;
/** How often a block may leave memory under one answer. */
const MAX_REOPENS = 8;
/** Keys that are loaded and handed in within one turn of the event loop. */
const KEYS_AT_ONCE = 256;
/** Text of a call, in characters, that is read on the serving thread; a longer one goes to the pool as it is. */
const MAX_INLINE_TEXT = 131_072;
/** Time on the serving thread that a call may take to run again once something was loaded; past it, the pool does. */
const MAX_INLINE_MS = 5;
/** What the native core says of a call that is too long for a serving thread. */
const BUDGET = 'b';

/** What the pool runs. */
interface Pooled {
  run(view: NativeView, milliseconds: number, client: string): Promise<NativeAnswer>;
  cancel(): void;
  end(): void;
}

interface Texts {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly gas: string;
  readonly data: string | undefined;
  readonly options: string | undefined;
}

/** Bytes are a call's long output. */
type NativeAnswer = string | Buffer;
type Ask<A extends NativeAnswer> = (view: NativeView) => Awaitable<A>;

/** State after one block, or after one flashblock, on the native core: runs, loads what was missing, and runs again. */
export class NativeStateView implements HeldStateView {
  readonly ref: BlockRef;
  readonly timestamp: number;
  /** The block that has to be canonical for an answer: this one, or the one below all that is pre-confirmed. */
  readonly #standsOn: BlockRef;
  readonly #options: ViewOptions;
  readonly #load: StateLoader;
  readonly #tries: StateTries;
  /** Opens the block anew once it has left hot state, where that can be done. */
  readonly #reopen: (() => NativeView) | undefined;
  #view: NativeView;
  /** Those who have it. */
  #holders = 1;

  constructor(
    view: NativeView,
    options: ViewOptions,
    load: StateLoader,
    tries: StateTries,
    by: { readonly reopen: () => NativeView } | { readonly standsOn: BlockRef },
  ) {
    this.#view = view;
    this.#options = options;
    this.#load = load;
    this.#tries = tries;
    this.ref = { number: view.number, hash: view.hash as Hex };
    this.#reopen = 'reopen' in by ? by.reopen : undefined;
    this.#standsOn = 'standsOn' in by ? by.standsOn : this.ref;
    this.timestamp = view.timestamp;
  }

  hold(): void {
    this.#holders++;
  }

  release(): void {
    this.#holders--;
    if (this.#holders === 0) this.#view.release();
  }

  transactionCount(address: Hex, context?: LoadContext): Awaitable<Hex> {
    return andThen(
      this.#ask((view) => view.nonce(address), context),
      hexOf,
    );
  }

  account(address: Hex, context?: LoadContext): Awaitable<{ readonly nonce: Hex; readonly balance: Hex }> {
    return andThen(
      this.#ask((view) => view.account(address), context),
      (answer) => {
        const [nonce, balance] = answer.slice(1).split(',');
        return { nonce: nonce as Hex, balance: balance as Hex };
      },
    );
  }

  balance(address: Hex, context?: LoadContext): Awaitable<Hex> {
    return andThen(
      this.#ask((view) => view.balance(address), context),
      hexOf,
    );
  }

  code(address: Hex, context?: LoadContext): Awaitable<Hex> {
    return andThen(
      this.#ask((view) => view.code(address), context),
      hexOf,
    );
  }

  storageAt(address: Hex, slot: Hex, context?: LoadContext): Awaitable<Hex> {
    return andThen(
      this.#ask((view) => view.storage(address, slot), context),
      hexOf,
    );
  }

  /** At once if all state is in memory and the call is short; else in rounds of loading, and in the pool. */
  call(request: CallRequest, context?: LoadContext): Awaitable<CallResult> {
    return this.#run(request, undefined, context);
  }

  query(query: Query, request: CallRequest, context?: LoadContext): Awaitable<QueryResult> {
    return andThen(this.#run(request, JSON.stringify(query), context), answerOf);
  }

  trace(
    block: Uint8Array,
    { call, ...traced }: Traced,
    options: TraceOptions,
    context?: LoadContext,
  ): Awaitable<QueryResult> {
    this.#assertHeld();
    const first = { view: this.#view, answer: BUDGET };
    const asked = { ...traced, ...(call && { call: { after: call.after, ...textsOf(call.request) } }) };
    const forPool = (): Pooled => new native.NativeTrace(block, asked, JSON.stringify(options));
    return this.#completeCall(first, () => BUDGET, forPool, context).then(answerOf);
  }

  #run(
    request: CallRequest,
    asked: string | undefined,
    context: LoadContext | undefined,
  ): Awaitable<CallResult> {
    const { from, to, gas, data, options } = textsOf(request);
    const inline = (view: NativeView): string =>
      inlineShare.run(this.#options.callInlineSteps, context?.client, (steps) =>
        view.call(from, to, gas, data, options, steps, asked),
      );
    this.#assertHeld();
    const view = this.#view;
    // A trace is text that is written as it runs.
    const isTrace = asked?.startsWith('{"trace"') === true;
    const isLong = isTrace || (data?.length ?? 0) + (options?.length ?? 0) > MAX_INLINE_TEXT;
    const answer = isLong ? BUDGET : inline(view);
    if (answer !== BUDGET && isFinal(answer)) return callResult(answer);
    const forPool = (): Pooled => new native.NativePooledCall(from, to, gas, data, options, asked);
    return this.#completeCall({ view, answer }, inline, forPool, context);
  }

  /** At once if it is short, lacks no state, and its trie is there or not to be had; else in the pool. */
  simulate(request: SimulationRequest, context?: LoadContext): Awaitable<SimulationResult> {
    this.#assertHeld();
    const text = JSON.stringify(request);
    // What is pre-confirmed has no trie.
    const hasTrie = this.#reopen === undefined ? false : this.#tries.ready(this.ref);
    if (hasTrie !== undefined && text.length <= MAX_INLINE_TEXT) {
      const answer = inlineShare.run(this.#options.callInlineSteps, context?.client, (steps) =>
        this.#view.simulate(text, steps, hasTrie),
      );
      if (answer !== BUDGET && answer !== 'T' && isFinal(answer)) return simulationResult(answer);
    }
    return this.#simulateInPool(text, context);
  }

  async #simulateInPool(text: string, context: LoadContext | undefined): Promise<SimulationResult> {
    const scope = new CallScope(this.#options.simulateTimeLimitMs, context);
    const simulation = new native.NativeSimulation(text);
    scope.onCancel = () => simulation.cancel();
    const ask = async (view: NativeView): Promise<NativeAnswer> => {
      const hasTrie = this.#reopen !== undefined && (await this.#tries.prepare(this.ref, scope.context));
      if (scope.ended !== undefined) return scope.ended;
      const answer = await simulation.run(view, scope.millisecondsLeft, scope.client, hasTrie);
      return answer === 'T' ? simulation.run(view, scope.millisecondsLeft, scope.client, false) : answer;
    };
    try {
      const view = this.#view;
      const answer = await ask(view);
      if (isFinal(answer)) return simulationResult(answer);
      return simulationResult(await this.#askAgain(ask, { view, answer }, scope.context));
    } catch (error) {
      if (scope.ended !== undefined) return simulationResult(scope.ended);
      throw error;
    } finally {
      scope.close();
      simulation.end();
    }
  }

  /** Each round runs from the start. A few short ones are for this thread, all others for the pool. */
  async #completeCall(
    first: { readonly view: NativeView; readonly answer: string },
    inline: (view: NativeView) => string,
    forPool: () => Pooled,
    context: LoadContext | undefined,
  ): Promise<CallResult> {
    const scope = new CallScope(this.#options.callTimeLimitMs, context);
    let pooled: Pooled | undefined;
    const inPool = (view: NativeView): Promise<NativeAnswer> => {
      pooled ??= forPool();
      scope.onCancel = () => pooled?.cancel();
      return pooled.run(view, scope.millisecondsLeft, scope.client);
    };
    let inlineMs = first.answer === BUDGET ? MAX_INLINE_MS : 0;
    const ask = (view: NativeView): Awaitable<NativeAnswer> => {
      if (scope.ended !== undefined) return scope.ended;
      if (inlineMs >= MAX_INLINE_MS) return inPool(view);
      const started = performance.now();
      const answer = inline(view);
      inlineMs += performance.now() - started;
      return answer === BUDGET ? inPool(view) : answer;
    };
    try {
      const answer = first.answer === BUDGET ? await ask(first.view) : first.answer;
      if (isFinal(answer)) return callResult(answer);
      return callResult(await this.#askAgain(ask, { ...first, answer }, scope.context));
    } catch (error) {
      // What was being loaded for it was given up.
      if (scope.ended !== undefined) return callResult(scope.ended);
      throw error;
    } finally {
      scope.close();
      pooled?.end();
    }
  }

  /** Asks until nothing is missing. Synchronous as long as everything is in memory. */
  #ask(ask: Ask<string>, context: LoadContext | undefined): Awaitable<string> {
    this.#assertHeld();
    const view = this.#view;
    return andThen(ask(view), (answer) =>
      isFinal(answer) ? answer : this.#askAgain(ask, { view, answer }, context),
    );
  }

  async #askAgain<A extends NativeAnswer>(
    ask: Ask<A>,
    first: { readonly view: NativeView; readonly answer: A },
    context: LoadContext | undefined,
  ): Promise<A> {
    let { view, answer } = first;
    let reopens = 0;
    this.#assertHeld();
    view.holdLoaded();
    try {
      for (let round = 0; round < MAX_ROUNDS; round++) {
        if (answer === 'o') {
          if (++reopens > MAX_REOPENS) throw new StateUnavailableError('the block keeps leaving memory');
          const opened = this.#opened(view);
          view.releaseLoaded();
          view = opened;
          view.holdLoaded();
        } else {
          await this.#provide(view, (answer as string).slice(1), context);
        }
        // A store in memory answers at once: without this, others would wait for all rounds of this one.
        await nextTurn();
        this.#assertHeld();
        answer = await ask(view);
        if (isFinal(answer)) return answer;
      }
      throw new StateUnavailableError(`not complete after ${MAX_ROUNDS} rounds of loading`);
    } finally {
      view.releaseLoaded();
    }
  }

  /** The block opened anew, by whoever found first that it has left memory. */
  #opened(left: NativeView): NativeView {
    if (this.#reopen === undefined) throw new TakenOffError();
    if (this.#view === left) this.#view = this.#reopen();
    return this.#view;
  }

  async #provide(view: NativeView, missing: string, context: LoadContext | undefined): Promise<void> {
    const load = (keys: readonly StateKey[], asOf: number): ReturnType<StateLoader> =>
      this.#load(keys, asOf, this.#standsOn, context);
    const provide: NativeView['provide'] = (text, values) => {
      this.#assertHeld();
      view.provide(text, values);
    };
    await asOverloaded(supply({ provide }, missing, load, KEYS_AT_ONCE));
  }

  /** Work may go on after its request has ended: other entries of a batch that failed, say. */
  #assertHeld(): void {
    if (this.#holders < 1) throw new StateUnavailableError('the state was given back');
  }
}

function answerOf(result: CallResult): QueryResult {
  return result.kind === 'success' ? { kind: 'answer', json: result.output } : result;
}

function isFinal(answer: NativeAnswer): boolean {
  if (typeof answer !== 'string') return true;
  const tag = answer.charCodeAt(0);
  return tag !== 0x6d /* m */ && tag !== 0x6f /* o */;
}

function hexOf(answer: string): Hex {
  return answer.slice(1) as Hex;
}

/** A call as the native core reads it: the fields few calls have are JSON. */
function textsOf({ from, to, gas, data, ...rest }: CallRequest): Texts {
  return { from, to, gas, data, options: isEmpty(rest) ? undefined : JSON.stringify(rest) };
}

function isEmpty(object: object): boolean {
  for (const _ in object) return false;
  return true;
}

function callResult(answer: NativeAnswer): CallResult {
  if (typeof answer !== 'string') {
    const isRevert = answer[0] === 0x72; /* r */
    return isRevert
      ? { kind: 'revert', output: own(answer.subarray(1)) }
      : { kind: 'success', output: own(answer) };
  }
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
    default:
      return unfinished(answer);
  }
}
