import { type NativeCancel, native } from '@chain-query/native';
import type { StateKey } from '../chain/state-key.ts';
import type { Awaitable } from '../primitives/hex.ts';
import { Turns } from '../primitives/turns.ts';
import { ExecutionLimitError, failureOf } from './errors.ts';
import { supply } from './missing.ts';

/** Rounds of loading for one block: each speculates as far as it can, so few are ever needed. */
const MAX_ROUNDS = 256;
/** Executions that may wait for each other: there is one follower and one stream, each with one at a time. */
const MAX_WAITING = 16;

/** Loads what a block being executed lacks. */
export type BlockLoader = (
  keys: readonly StateKey[],
  asOf: number,
) => Awaitable<readonly (Uint8Array | undefined)[]>;

/** What an execution may still take. */
interface TimeLimit {
  millisecondsLeft(): number;
  /** Takes note of what one run took. */
  spend(ms: number): void;
  /** Whether the time that it waits for its turn is taken from it, too. */
  readonly countsWaiting: boolean;
}

/** So much for all runs together; waiting and loading are not counted. */
export function timeOfRuns(milliseconds: number): TimeLimit {
  let left = milliseconds;
  return {
    millisecondsLeft: () => left,
    spend: (ms) => {
      left -= ms;
    },
    countsWaiting: false,
  };
}

/** Until a time of `performance.now`, whatever it is spent on. */
export function timeUntil(deadline: number): TimeLimit {
  return { millisecondsLeft: () => deadline - performance.now(), spend: () => {}, countsWaiting: true };
}

/**
 * Blocks and flashblocks on the thread that the native core has for them: one at a time, in order of asking. There
 * nothing is changed. What one did is taken in on this thread when its promise is settled, and the next begins after
 * that: so none is executed on half of another, and what else changes the chain need not wait for any of them.
 */
export class Executions {
  readonly #chain: { provide(missing: string, values: Uint8Array): void };
  readonly #turns = new Turns(MAX_WAITING);

  constructor(chain: { provide(missing: string, values: Uint8Array): void }) {
    this.#chain = chain;
  }

  /** Runs until nothing is missing. Failures have types; once the signal aborts, its reason is thrown. */
  async complete<T extends { readonly missing?: string }>(
    run: (milliseconds: number, cancel: NativeCancel) => Promise<T>,
    by: {
      readonly load: BlockLoader;
      readonly time: TimeLimit;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<T> {
    const { load, time, signal } = by;
    const cancel = new native.NativeCancel();
    const ended = Promise.withResolvers<never>();
    // Nobody waits for it where it comes too late.
    ended.promise.catch(() => {});
    const end = (why: unknown): void => {
      cancel.cancel();
      ended.reject(why);
    };
    const onAbort = (): void => end(signal?.reason);
    const onLate = (): void => end(new ExecutionLimitError('it was not executed in time'));
    const timer = time.countsWaiting ? setTimeout(onLate, Math.max(0, time.millisecondsLeft())) : undefined;
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      for (let round = 0; round < MAX_ROUNDS; round++) {
        signal?.throwIfAborted();
        const turn = this.inTurn(async () => {
          const started = performance.now();
          const ran = await run(Math.max(0, Math.ceil(time.millisecondsLeft())), cancel);
          time.spend(performance.now() - started);
          return ran;
        });
        // Another one may take long, or a precompile that has begun: what comes of it after the end is not taken in.
        const result = await Promise.race([turn, ended.promise]);
        if (result.missing === undefined) return result;
        await supply(this.#chain, result.missing, load);
      }
    } catch (error) {
      signal?.throwIfAborted();
      throw failureOf(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
    throw new Error(`a block was not complete after ${MAX_ROUNDS} rounds of loading`);
  }

  /** Does something that must not come between an execution and what follows from it. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#turns.isFull) throw new ExecutionLimitError('too many blocks wait to be executed');
    return this.#turns.take(work);
  }
}
