import fc from 'fast-check';
import { expect, it } from 'vitest';
import { arrivals, type Delivery, sealedAt } from '../../../test/support/source/deliveries.ts';
import { BLOCK_SIZE, hashAfter, makeFlashblock } from '../../../test/support/source/flashblocks.ts';
import { PrefixCheck } from '../../../test/support/source/prefix-check.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { Flashblock } from './flashblock.ts';
import { DEFAULT_FLASHBLOCK_OPTIONS } from './options.ts';
import { advance, isPassedOn, type SequenceInput } from './sequence.ts';
import { emptySequence, type SequenceState } from './sequence-state.ts';

const limits = DEFAULT_FLASHBLOCK_OPTIONS.sequence;
const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const BLOCKS = 5;

/** Blocks 1 to 5, and then one more that every stream delivers whole: the next index 0. */
const honest: readonly Flashblock[] = Array.from({ length: BLOCKS * BLOCK_SIZE }, (_, at) =>
  makeFlashblock({ number: 1 + Math.floor(at / BLOCK_SIZE), index: at % BLOCK_SIZE }),
);
const last: readonly Flashblock[] = Array.from({ length: BLOCK_SIZE }, (_, index) =>
  makeFlashblock({ number: BLOCKS + 1, index }),
);
const rebuilt: readonly Flashblock[] = Array.from({ length: BLOCK_SIZE }, (_, index) =>
  makeFlashblock({ number: 2, index, attempt: 'again', parent: hashAfter(1) }),
);

/** What a stream does with each flashblock: how often it sends it, and how much later than the first. */
const delivery = fc.record({
  copies: fc.constantFrom(0, 1, 1, 1, 2),
  delayMs: fc.constantFrom(0, 0, 5, 40, 190, 450),
});
const streamOf = fc.array(delivery, { minLength: honest.length, maxLength: honest.length });
const headDelays = fc.array(fc.constantFrom(0, 100, 250, 900, 2_500), {
  minLength: BLOCKS,
  maxLength: BLOCKS,
});

/** The validator, and a consumer that notes whatever is not in order, whole, once, and on a parent that is there. */
class Checked {
  readonly check = new PrefixCheck(() => this.#head);
  state: SequenceState = emptySequence;
  #head: Hex | undefined;

  input(input: SequenceInput): void {
    const { state, outcomes } = advance(this.state, input, limits);
    this.state = state;
    if (input.kind === 'head') this.#head = input.head.hash;
    for (const outcome of outcomes) {
      if (outcome.kind !== 'decided') this.check.take(outcome);
      else if (isPassedOn(outcome.decision)) this.check.take({ ...outcome, kind: 'flashblock' });
    }
    if (state.held.length > limits.maxHeld) this.check.problems.push('too many are held');
    const known = state.pending.flatMap(({ seen }) => seen).length;
    if (known !== this.check.pending) this.check.problems.push('state and events differ');
  }
}

function run(
  sequence: readonly Flashblock[],
  streams: readonly (readonly Delivery[])[],
  delays: readonly number[],
): PrefixCheck {
  const inputs: SequenceInput[] = [{ kind: 'head', head: { number: 0, hash: hashAfter(0) }, at: 0 }];
  inputs.push(...arrivals(sequence, streams));
  for (const [index, at] of sealedAt(delays).entries()) {
    const number = index + 1;
    inputs.push({ kind: 'head', head: { number, hash: hashAfter(number) }, at });
  }
  const checked = new Checked();
  for (const input of inputs.toSorted((a, b) => a.at - b.at)) checked.input(input);
  const end = Math.max(...inputs.map(({ at }) => at)) + 10_000;
  checked.input({ kind: 'time', at: end });
  expect(checked.state.held).toEqual([]);
  for (const [order, flashblock] of last.entries()) {
    checked.input({ kind: 'arrival', flashblock, stream: 'stream 0', at: end + order });
  }
  expect(checked.check.problems).toEqual([]);
  expect(checked.check.passed.slice(-BLOCK_SIZE)).toEqual(last);
  return checked.check;
}

it(`any interleaving, loss and repetition of streams gives prefixes of blocks, and recovers (TEST_SEED=${seed})`, () => {
  let whole = 0;
  fc.assert(
    fc.property(fc.array(streamOf, { minLength: 1, maxLength: 3 }), headDelays, (streams, delays) => {
      const { passed } = run(honest, streams, delays);
      if (passed.length === honest.length + last.length) whole += 1;
    }),
    { seed, numRuns: 400 },
  );
  expect(whole).toBeGreaterThan(0);
});

it(`the same with a block that is rebuilt (TEST_SEED=${seed})`, () => {
  // Two flashblocks of block 2, then all of its other attempt, on which nothing else stands.
  const sequence = [...honest.slice(0, BLOCK_SIZE + 2), ...rebuilt];
  fc.assert(
    fc.property(fc.array(streamOf, { minLength: 1, maxLength: 3 }), (streams) => {
      run(sequence, streams, [0, 0, 0, 0, 0]);
    }),
    { seed, numRuns: 200 },
  );
});

it(`one faultless stream among bad ones is enough (TEST_SEED=${seed})`, () => {
  const faultless = honest.map(() => ({ copies: 1, delayMs: 190 }));
  fc.assert(
    fc.property(fc.array(streamOf, { maxLength: 2 }), (streams) => {
      const bad = streams.map((stream) =>
        stream.map(({ copies, delayMs }) => ({ copies, delayMs: Math.min(delayMs, 190) })),
      );
      expect(run(honest, [faultless, ...bad], [0, 0, 0, 0, 0]).passed).toEqual([...honest, ...last]);
    }),
    { seed, numRuns: 200 },
  );
});

it(`arbitrary flashblocks never break its invariants (TEST_SEED=${seed})`, () => {
  const made = fc.record({
    number: fc.integer({ min: 1, max: 4 }),
    index: fc.integer({ min: 0, max: 4 }),
    attempt: fc.constantFrom('', '', 'x'),
    twist: fc.constantFrom('', '', '', '', 'lie'),
    form: fc.constantFrom('real', 'zero-root', 'absent', 'absent'),
    parent: fc.constantFrom(undefined, hashAfter(1, 1), hashAfter(1, 3, 'x')),
  });
  const step = fc.oneof(
    { weight: 12, arbitrary: made.map((value) => ({ made: value })) },
    { weight: 1, arbitrary: fc.record({ head: fc.integer({ min: 0, max: 3 }), loses: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constantFrom(10, 250, 2_500).map((ms) => ({ ms })) },
    { weight: 1, arbitrary: fc.constant({ drop: true }) },
    { weight: 1, arbitrary: fc.nat(2).map((refuse) => ({ refuse })) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let state = emptySequence;
      let at = 0;
      for (const each of steps) {
        if ('ms' in each) at += each.ms;
        let input: SequenceInput = { kind: 'time', at };
        if ('made' in each) {
          const { parent, ...rest } = each.made;
          const flashblock = makeFlashblock(parent === undefined ? rest : { ...rest, parent });
          input = { kind: 'arrival', flashblock, stream: 'a', at };
        } else if ('head' in each) {
          const lost = each.loses ? state.pending.slice(1).map(({ payloadId }) => payloadId) : [];
          input = { kind: 'head', head: { number: each.head, hash: hashAfter(each.head) }, lost, at };
        } else if ('refuse' in each) {
          const payloadId = state.pending[each.refuse]?.payloadId ?? '0x';
          input = { kind: 'refuse', payloadId, at };
        } else if ('drop' in each) input = { kind: 'dropAll', reason: 'silence', at };
        state = advance(state, input, limits).state;
        expect(state.held.every(({ until }) => until > at)).toBe(true);
        for (const [place, block] of state.pending.entries()) {
          expect(block.number).toBe((state.head?.number ?? 0) + 1 + place);
        }
        expect(state.held.length).toBeLessThanOrEqual(limits.maxHeld);
        const ids = [...state.pending, ...state.past].map(({ payloadId }) => payloadId);
        expect(new Set(ids).size).toBe(ids.length);
      }
    }),
    { seed, numRuns: 500 },
  );
});
