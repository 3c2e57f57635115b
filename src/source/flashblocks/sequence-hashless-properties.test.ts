import fc from 'fast-check';
import { expect, it } from 'vitest';
import { arrivals, type Delivery, sealedAt } from '../../../test/support/source/deliveries.ts';
import { BLOCK_SIZE, hashAfter, makeFlashblock } from '../../../test/support/source/flashblocks.ts';
import { PrefixCheck } from '../../../test/support/source/prefix-check.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { Flashblock } from './flashblock.ts';
import { DEFAULT_FLASHBLOCK_OPTIONS } from './options.ts';
import { advance, isPassedOn, type SequenceInput, type SequenceOutcome } from './sequence.ts';
import { emptySequence, type SequenceState } from './sequence-state.ts';

const limits = DEFAULT_FLASHBLOCK_OPTIONS.sequence;
const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const BLOCKS = 5;

/** Blocks 1 to 5, and then one more that every stream delivers whole. */
const honest: readonly Flashblock[] = Array.from({ length: BLOCKS * BLOCK_SIZE }, (_, at) =>
  makeFlashblock({ number: 1 + Math.floor(at / BLOCK_SIZE), index: at % BLOCK_SIZE, form: 'absent' }),
);
const last: readonly Flashblock[] = Array.from({ length: BLOCK_SIZE }, (_, index) =>
  makeFlashblock({ number: BLOCKS + 1, index, form: 'absent' }),
);

/** A block as whoever executes flashblocks has it. */
interface Executed {
  readonly number: number;
  readonly payloadId: Hex;
  count: number;
  /** It was executed on all of the block below. */
  readonly isOnWhole: boolean;
}

/** The validator, a consumer that checks the order, and an executor that drops what stood on less than was sealed. */
class Checked {
  readonly check = new PrefixCheck(() => this.#head?.hash);
  readonly dropped: string[] = [];
  state: SequenceState = emptySequence;
  #executed: Executed[] = [];
  #head: { readonly number: number; readonly hash: Hex } | undefined;

  /** The canonical block is always the whole one. */
  head(number: number, at: number): void {
    const own = this.#executed.find((block) => block.number === number);
    const above = this.#executed.filter((block) => block.number > number);
    const isSame = own === undefined || own.count === BLOCK_SIZE;
    this.#executed = isSame ? above : [];
    this.#head = { number, hash: hashAfter(number) };
    const lost = isSame ? [] : [...(own ? [own] : []), ...above].map(({ payloadId }) => payloadId);
    this.input({ kind: 'head', head: this.#head, lost, at });
    const [lowest] = this.#executed;
    if (lowest?.isOnWhole === false)
      this.check.problems.push(`${lowest.number} stands on less than there is`);
  }

  input(input: SequenceInput): void {
    const { state, outcomes } = advance(this.state, input, limits);
    this.state = state;
    for (const outcome of outcomes) this.#take(outcome);
    const known = state.pending.flatMap(({ seen }) => seen).length;
    if (known !== this.check.pending) this.check.problems.push('state and events differ');
    if (state.held.length > limits.maxHeld) this.check.problems.push('too many are held');
  }

  #take(outcome: SequenceOutcome): void {
    if (outcome.kind === 'decided') {
      if (!isPassedOn(outcome.decision)) return;
      this.check.take({ ...outcome, kind: 'flashblock' });
      this.#execute(outcome.flashblock);
      return;
    }
    this.check.take(outcome);
    if (outcome.kind === 'confirmed') return;
    this.dropped.push(outcome.reason);
    this.#executed = this.#executed.filter(({ number }) => number < outcome.from);
  }

  #execute({ payloadId, blockNumber: number, index }: Flashblock): void {
    const own = this.#executed.find((block) => block.payloadId === payloadId);
    if (index > 0 && own !== undefined) own.count += 1;
    if (index > 0) return;
    this.#executed = this.#executed.filter((block) => block.number < number);
    const below = this.#executed.at(-1);
    this.#executed.push({
      ...{ number, payloadId, count: 1 },
      isOnWhole: below === undefined || below.count === BLOCK_SIZE,
    });
  }
}

function run(streams: readonly (readonly Delivery[])[], delays: readonly number[]): Checked {
  const inputs: (
    | SequenceInput
    | { readonly kind: 'sealed'; readonly number: number; readonly at: number }
  )[] = [{ kind: 'sealed', number: 0, at: 0 }];
  inputs.push(...arrivals(honest, streams));
  for (const [index, at] of sealedAt(delays).entries())
    inputs.push({ kind: 'sealed', number: index + 1, at });
  const checked = new Checked();
  for (const input of inputs.toSorted((a, b) => a.at - b.at)) {
    if (input.kind === 'sealed') checked.head(input.number, input.at);
    else checked.input(input);
  }
  const end = Math.max(...inputs.map(({ at }) => at)) + 10_000;
  checked.input({ kind: 'time', at: end });
  expect(checked.state.held).toEqual([]);
  for (const [order, flashblock] of last.entries()) {
    checked.input({ kind: 'arrival', flashblock, stream: 'stream 0', at: end + order });
  }
  expect(checked.check.problems).toEqual([]);
  expect(checked.check.passed.slice(-BLOCK_SIZE)).toEqual(last);
  return checked;
}

const delivery = fc.record({
  copies: fc.constantFrom(0, 1, 1, 1, 1, 1, 2),
  delayMs: fc.constantFrom(0, 0, 0, 5, 40, 190, 450),
});
const streamOf = fc.array(delivery, { minLength: honest.length, maxLength: honest.length });
const headDelays = fc.array(fc.constantFrom(0, 100, 250, 900, 2_500), {
  minLength: BLOCKS,
  maxLength: BLOCKS,
});

it(`nothing stands on less than was sealed, whatever is lost, repeated or late, and it recovers (B6, TEST_SEED=${seed})`, () => {
  let begunAgain = 0;
  fc.assert(
    fc.property(fc.array(streamOf, { minLength: 1, maxLength: 3 }), headDelays, (streams, delays) => {
      const { dropped, check } = run(streams, delays);
      const names = check.passed.map(({ digest }) => digest);
      if (dropped.includes('sealedOtherwise') && new Set(names).size < names.length) begunAgain += 1;
    }),
    { seed, numRuns: 600 },
  );
  expect(begunAgain).toBeGreaterThan(10);
});

it(`a faultless stream is passed on whole and at once, however late the sealed blocks are (B6, TEST_SEED=${seed})`, () => {
  // A head may be up to the limit of pre-confirmed blocks late.
  fc.assert(
    fc.property(headDelays, (delays) => {
      const { check, dropped } = run([honest.map(() => ({ copies: 1, delayMs: 0 }))], delays);
      expect(dropped).toEqual([]);
      expect(check.passed).toEqual([...honest, ...last]);
    }),
    { seed, numRuns: 200 },
  );
});
