import type { BlockRef } from '../../chain/outcome.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { Flashblock } from './flashblock.ts';
import { type Decision, decide, judge } from './sequence-rules.ts';
import {
  type Arrival,
  endPending,
  giveUp,
  type Held,
  type SequenceLimits,
  type SequenceState,
  seenBefore,
  setBack,
} from './sequence-state.ts';

export type DropReason =
  /** A flashblock was lost, and no stream had it in time. */
  | 'gap'
  /** Two streams, or one, said two things under one payload id and index. */
  | 'contradiction'
  /** A block was announced on a parent that did not become canonical in time. */
  | 'parentUnknown'
  /** The canonical block of that number is not the one that was pre-confirmed last. */
  | 'sealedOtherwise'
  /** The head moved past them without showing the block of their number. */
  | 'overtaken'
  /** The head left the chain that was built on. */
  | 'reorganised'
  /** No stream has said anything for too long. */
  | 'silence'
  /** Events were not taken in time. */
  | 'overrun'
  /** Whoever executes them refused a flashblock. */
  | 'refused';

/** What happens to the validator. `at` never goes back. */
export type SequenceInput =
  | ({ readonly kind: 'arrival' } & Arrival)
  /**
   * The copy's newest block; what flashblocks can be executed on. `lost` names payloads that had been executed and are
   * gone because it has other contents: its own, and those on top of it.
   */
  | { readonly kind: 'head'; readonly head: BlockRef; readonly lost?: readonly Hex[]; readonly at: number }
  | { readonly kind: 'time'; readonly at: number }
  | { readonly kind: 'refuse'; readonly payloadId: Hex; readonly at: number }
  | { readonly kind: 'dropAll'; readonly reason: 'silence' | 'overrun'; readonly at: number };

export interface Dropped {
  readonly kind: 'dropped';
  readonly reason: DropReason;
  /** Pre-confirmed blocks from this number on are gone until the next index 0. */
  readonly from: number;
}

export type SequenceOutcome =
  /** Every flashblock gets one; one that was held gets another when it is let go. */
  | ({
      readonly kind: 'decided';
      readonly decision: Decision;
      /** What came before under its payload id and index: of a duplicate or a contradiction. */
      readonly before?: { readonly stream: string; readonly at: number };
      /** It closes a hole that another had waited behind. */
      readonly repairs?: true;
    } & Arrival)
  /** The canonical block is the one that was pre-confirmed, as far as its flashblocks and the block above it say. */
  | ({ readonly kind: 'confirmed' } & BlockRef)
  | Dropped;

export interface Advanced {
  readonly state: SequenceState;
  readonly outcomes: readonly SequenceOutcome[];
}

const PASSED_ON: ReadonlySet<Decision> = new Set(['accept', 'start', 'rebuild'] as const);

/** True when the flashblock is the next thing to execute. */
export const isPassedOn = (decision: Decision): boolean => PASSED_ON.has(decision);

/** Takes one input in. Pure; never throws. */
export function advance(state: SequenceState, input: SequenceInput, limits: SequenceLimits): Advanced {
  const outcomes: SequenceOutcome[] = [];
  const then = (next: Advanced): SequenceState => {
    outcomes.push(...next.outcomes);
    return next.state;
  };
  let current = then(expire(state, input.at));
  current = then(take(current, input, limits));
  current = then(letGo(current, input.at, limits));
  return { state: current, outcomes };
}

/** When `advance` has to be told of the time, at the latest. */
export function nextDeadline({ held }: SequenceState): number | undefined {
  return held.length === 0 ? undefined : Math.min(...held.map(({ until }) => until));
}

function take(state: SequenceState, input: SequenceInput, limits: SequenceLimits): Advanced {
  switch (input.kind) {
    case 'arrival':
      return takeArrival(state, input, limits);
    case 'head':
      return takeHead(state, input, limits);
    case 'refuse':
      return takeRefusal(state, input, limits);
    case 'dropAll': {
      const [first] = state.pending;
      const outcomes: Dropped[] =
        first === undefined ? [] : [{ kind: 'dropped', reason: input.reason, from: first.number }];
      return { state: endPending(state, state.pending, 'givenUp'), outcomes };
    }
    case 'time':
      return { state, outcomes: [] };
  }
}

function takeArrival(state: SequenceState, arrival: Arrival, limits: SequenceLimits): Advanced {
  const { flashblock, stream, at } = arrival;
  const before = seenBefore(state, flashblock);
  const next = decide(state, arrival, limits);
  const outcomes: SequenceOutcome[] = [
    {
      kind: 'decided',
      decision: next.decision,
      ...{ flashblock, stream, at },
      ...(before === undefined ? {} : { before: { stream: before.stream, at: before.at } }),
      ...(isPassedOn(next.decision) && isWaitedFor(state, flashblock) ? { repairs: true } : {}),
    },
  ];
  const kept = next.state.pending.length;
  const lost = next.decision === 'contradiction' ? state.pending[kept] : undefined;
  if (lost !== undefined) outcomes.push({ kind: 'dropped', reason: 'contradiction', from: lost.number });
  return { state: next.state, outcomes };
}

/** True when the one after it has come already. */
function isWaitedFor({ held }: SequenceState, { payloadId, index }: Flashblock): boolean {
  return held.some(({ flashblock }) => flashblock.payloadId === payloadId && flashblock.index === index + 1);
}

/** Gives a block up. One on a block without a hash may be right, and the other incomplete: it is tried again on the sealed one. */
function takeRefusal(
  state: SequenceState,
  { payloadId, at }: Extract<SequenceInput, { kind: 'refuse' }>,
  limits: SequenceLimits,
): Advanced {
  const block = state.pending.find((pending) => pending.payloadId === payloadId);
  if (block === undefined) return { state, outcomes: [] };
  const { number, arrivals } = block;
  const dropped: Dropped = { kind: 'dropped', reason: 'refused', from: number };
  if (arrivals === undefined) return { state: giveUp(state, payloadId, number), outcomes: [dropped] };
  const pending = state.pending.map((below) =>
    below.number === number - 1 ? { ...below, isIncomplete: true } : below,
  );
  return { state: setBack({ ...state, pending }, number, at, limits), outcomes: [dropped] };
}

/** Lets what is canonical now go out of the pre-confirmed state, and with it all that does not stand on it. */
function takeHead(
  state: SequenceState,
  { head, lost = [], at }: Extract<SequenceInput, { kind: 'head' }>,
  limits: SequenceLimits,
): Advanced {
  const next = { ...state, head };
  const below = state.pending.filter(({ number }) => number <= head.number);
  const above = state.pending.filter(({ number }) => number > head.number);
  const own = below.find(({ number }) => number === head.number);
  // Where its builder did not say its hash, the block above did; and without one there is nothing to be wrong.
  const hash = own && (own.hash ?? above[0]?.parentHash ?? head.hash);
  // What stands on it and is not lost was executed on the sealed block already, or will be.
  const isOther =
    own !== undefined && [own, ...above.slice(0, 1)].every(({ payloadId }) => lost.includes(payloadId));
  const confirmed = hash === head.hash && !isOther;
  const untouched = below.length === 0 && (above.length === 0 || head.hash === state.head?.hash);
  const sealed = endPending(next, below, 'sealed');
  if (confirmed) return takeConfirmed(sealed, head, lost, at, limits);
  if (untouched) return { state: sealed, outcomes: [] };
  const reason = own !== undefined ? 'sealedOtherwise' : below.length > 0 ? 'overtaken' : 'reorganised';
  const from = own?.number ?? state.pending[0]?.number ?? head.number;
  const outcomes: Dropped[] = [{ kind: 'dropped', reason, from }];
  // Only its contents are other than was thought: what stands on it is right, and was executed on the wrong ones.
  if (isOther && hash === head.hash) return { state: setBack(sealed, head.number + 1, at, limits), outcomes };
  return { state: endPending(sealed, above, 'givenUp'), outcomes };
}

/** The head is what was pre-confirmed; what was executed on less of it than it has begins again. */
function takeConfirmed(
  state: SequenceState,
  head: BlockRef,
  lost: readonly Hex[],
  at: number,
  limits: SequenceLimits,
): Advanced {
  const confirmed = { kind: 'confirmed', ...head } as const;
  const first = state.pending.find(({ payloadId }) => lost.includes(payloadId));
  if (first !== undefined) {
    const dropped = { kind: 'dropped', reason: 'sealedOtherwise', from: first.number } as const;
    return { state: setBack(state, first.number, at, limits), outcomes: [confirmed, dropped] };
  }
  // It stands on a sealed block now, and is not begun again.
  const pending = state.pending.map((block, place) =>
    place === 0 ? { ...block, arrivals: undefined } : block,
  );
  return { state: { ...state, pending }, outcomes: [confirmed] };
}

/** Gives up what was waited for too long. */
function expire(state: SequenceState, at: number): Advanced {
  const outcomes: SequenceOutcome[] = [];
  let current = state;
  for (;;) {
    const due = current.held.find(({ until }) => until <= at);
    if (due === undefined) return { state: current, outcomes };
    const { payloadId, blockNumber } = due.flashblock;
    const [first] = current.pending;
    const newest = current.pending.at(-1)?.number ?? -1;
    if (due.why === 'gap' && hasBegunAnew(current, due)) {
      // What is missing was of an attempt that is over: the one that is known now stays.
      current = giveUp(current, payloadId, Number.POSITIVE_INFINITY);
    } else if (due.why === 'gap') {
      current = giveUp(current, payloadId, blockNumber);
      outcomes.push({ kind: 'dropped', reason: 'gap', from: blockNumber });
    } else if (blockNumber > newest) {
      const from = first?.number ?? blockNumber;
      current = giveUp(current, payloadId, from);
      outcomes.push({ kind: 'dropped', reason: 'parentUnknown', from });
    } else {
      // Another attempt at a block that is known, on a parent that nobody else knows: what is known stays.
      current = giveUp(current, payloadId, Number.POSITIVE_INFINITY);
    }
  }
}

/** True when another attempt at its block, or at one above, began after it came. */
function hasBegunAnew({ pending }: SequenceState, { flashblock, at }: Held): boolean {
  return pending.some(
    ({ payloadId, number, seen }) =>
      payloadId !== flashblock.payloadId && number >= flashblock.blockNumber && (seen[0]?.at ?? at) > at,
  );
}

/** Takes up what was held, as long as any of it has become the next. */
function letGo(state: SequenceState, at: number, limits: SequenceLimits): Advanced {
  const outcomes: SequenceOutcome[] = [];
  let current = state;
  for (let index = 0; index < current.held.length; ) {
    const held = current.held[index] as Held;
    const others = { ...current, held: current.held.filter((other) => other !== held) };
    const decision = judge(others, held, limits);
    if (decision === held.why || decision === 'overflow') {
      index += 1;
    } else if (decision === 'gap' || decision === 'early') {
      // It waits for something else now: index 0 came and is early itself, or has started with a hole behind it.
      const until = at + (decision === 'gap' ? limits.gapMs : limits.earlyMs);
      const changed = current.held.map((other) =>
        other === held ? { ...held, why: decision, until } : other,
      );
      current = { ...current, held: changed };
      index += 1;
    } else {
      const { flashblock, stream } = held;
      outcomes.push({ kind: 'decided', decision, flashblock, stream, at });
      current = isPassedOn(decision) ? decide(others, held, limits).state : others;
      index = 0;
    }
  }
  return { state: current, outcomes };
}
