import type { Flashblock } from './flashblock.ts';
import {
  type Arrival,
  endPending,
  giveUp,
  hasRoom,
  type PastPayload,
  type PendingBlock,
  type Seen,
  type SequenceLimits,
  type SequenceState,
  seenBefore,
  seenOf,
} from './sequence-state.ts';

export type Decision =
  | 'accept'
  | 'start'
  | 'rebuild'
  | 'gap'
  | 'early'
  | 'duplicate'
  | 'contradiction'
  | 'abandoned'
  | 'stale'
  | 'overflow';

/** A flashblock, and what the state says about its place. */
interface Place {
  readonly flashblock: Flashblock;
  readonly state: SequenceState;
  readonly before: Seen | undefined;
  readonly past: PastPayload | undefined;
  readonly own: PendingBlock | undefined;
  readonly tail: PendingBlock | undefined;
  readonly parent: Parent | undefined;
  readonly roomToHold: boolean;
}

/** How the parent of a block is known: by its hash, or by nothing but its place below. */
type Parent = 'named' | 'provisional';

interface Rule {
  /** In the words of docs/preconfirmations.md. */
  readonly when: string;
  readonly decision: Decision;
  readonly effect: string;
  applies(place: Place): boolean;
}

/** The decision table: the first rule that applies decides, and the last one always does. */
export const RULES: readonly Rule[] = [
  {
    when: 'this payload id and index came before, with the same content',
    decision: 'duplicate',
    effect: 'ignored; its delay is how far its stream is behind',
    applies: ({ before, flashblock }) => before?.digest === flashblock.digest,
  },
  {
    when: 'this payload id and index came before, with other content',
    decision: 'contradiction',
    effect:
      'both streams are named; the payload is given up, and its pre-confirmed block is dropped with all on top of it',
    applies: ({ before }) => before !== undefined,
  },
  {
    when: 'its block is not above the canonical head',
    decision: 'stale',
    effect: 'ignored',
    applies: ({ state, flashblock }) => flashblock.blockNumber <= (state.head?.number ?? -1),
  },
  {
    when: 'its payload was given up',
    decision: 'abandoned',
    effect: 'ignored until an index 0 of another payload',
    applies: ({ past }) => past?.fate === 'givenUp',
  },
  {
    when: 'its payload was replaced by a rebuild, or is sealed',
    decision: 'stale',
    effect: 'ignored',
    applies: ({ past }) => past !== undefined,
  },
  {
    when: 'next index of the newest pre-confirmed block',
    decision: 'accept',
    effect: 'passed on',
    applies: ({ own, tail, flashblock }) =>
      own !== undefined &&
      own === tail &&
      own.number === flashblock.blockNumber &&
      own.seen.length === flashblock.index,
  },
  {
    when: 'its block has a pre-confirmed block on top of it, or its number changed within the payload',
    decision: 'stale',
    effect: 'ignored',
    applies: ({ own, tail, flashblock }) =>
      own !== undefined && (own !== tail || own.number !== flashblock.blockNumber),
  },
  {
    when: 'index 0, there is a pre-confirmed block of its number, and it could start as below if there were none',
    decision: 'rebuild',
    effect: 'passed on; it takes the place of that block and of all on top of it',
    applies: ({ flashblock, state, parent }) =>
      parent !== undefined && state.pending.some(({ number }) => number === flashblock.blockNumber),
  },
  {
    when: 'index 0, its parent is the head or the last flashblock of the block before, by hash',
    decision: 'start',
    effect: 'passed on',
    applies: ({ parent }) => parent === 'named',
  },
  {
    when: 'index 0, the block before is pre-confirmed without a hash, began before this came, and nothing of it is known to be missing',
    decision: 'start',
    effect:
      'passed on, provisionally: its `parent_hash` is that hash. If the block before is sealed under another one, it is dropped with all on top of it; if with other contents, it is dropped and begun again on the sealed block',
    applies: ({ parent }) => parent === 'provisional',
  },
  {
    when: 'it would have to wait, and there is no room',
    decision: 'overflow',
    effect: 'ignored, as if it were lost',
    applies: ({ roomToHold }) => !roomToHold,
  },
  {
    when: 'index 0, and its parent is not known',
    decision: 'early',
    effect:
      'held until it is; in the end the payload is given up, and pre-confirmed blocks below it, old by then, are dropped',
    applies: ({ flashblock }) => flashblock.index === 0,
  },
  {
    when: 'a later index, and its index 0 is held for its parent',
    decision: 'early',
    effect: 'held with it',
    applies: ({ state, flashblock }) =>
      state.held.some(
        ({ flashblock: other }) => other.payloadId === flashblock.payloadId && other.index === 0,
      ),
  },
  {
    when: 'a later index, and one before it is missing',
    decision: 'gap',
    effect:
      'held until another stream fills the hole; in the end the payload is given up, and pre-confirmed blocks from its number on are dropped, unless they began later',
    applies: () => true,
  },
];

function parentOf({ head, pending, held }: SequenceState, of: Arrival, max: number): Parent | undefined {
  const { base, blockNumber } = of.flashblock;
  const below = pending.filter(({ number }) => number < blockNumber);
  const block = below.at(-1);
  const parent = block ?? head;
  if (parent?.number !== blockNumber - 1 || base === undefined || below.length >= max) return undefined;
  if (parent.hash !== undefined) return parent.hash === base.parentHash ? 'named' : undefined;
  const isMissing = held.some(({ flashblock }) => flashblock.payloadId === block?.payloadId);
  // What came before the block below began was announced on another one.
  const isOlder = of.at < (block?.seen[0]?.at ?? of.at);
  return isMissing || isOlder || block?.isIncomplete === true ? undefined : 'provisional';
}

/** The decision alone. */
export function judge(state: SequenceState, arrival: Arrival, limits: SequenceLimits): Decision {
  const { flashblock } = arrival;
  const { payloadId } = flashblock;
  const place: Place = {
    flashblock,
    state,
    before: seenBefore(state, flashblock),
    past: state.past.find((payload) => payload.payloadId === payloadId),
    own: state.pending.find((block) => block.payloadId === payloadId),
    tail: state.pending.at(-1),
    parent: parentOf(state, arrival, limits.maxPendingBlocks),
    roomToHold: hasRoom(state.held, flashblock, limits),
  };
  return RULES.find((rule) => rule.applies(place))?.decision ?? 'gap';
}

/** What to do with a flashblock, and the state after it. Pure; never throws. */
export function decide(
  state: SequenceState,
  arrival: Arrival,
  limits: SequenceLimits,
): { readonly decision: Decision; readonly state: SequenceState } {
  const decision = judge(state, arrival, limits);
  return { decision, state: after(decision, state, arrival, limits) };
}

function after(
  decision: Decision,
  state: SequenceState,
  arrival: Arrival,
  limits: SequenceLimits,
): SequenceState {
  const { payloadId, blockNumber: number, base, diff } = arrival.flashblock;
  switch (decision) {
    case 'start':
    case 'rebuild': {
      const replaced = state.pending.filter((block) => block.number >= number);
      const rest = endPending(state, replaced, 'replaced');
      const below = rest.pending.at(-1);
      const isProvisional = below !== undefined && below.hash === undefined;
      const block: PendingBlock = {
        ...{ payloadId, number, hash: diff.blockHash, seen: [seenOf(arrival)], isIncomplete: false },
        parentHash: base?.parentHash,
        arrivals: isProvisional ? withOneMore(rest, [], arrival, limits) : undefined,
      };
      return { ...rest, pending: [...rest.pending, block] };
    }
    case 'accept': {
      const pending = state.pending.map((block) =>
        block.payloadId === payloadId
          ? {
              ...{
                ...block,
                hash: diff.blockHash,
                seen: [...block.seen, seenOf(arrival)],
                isIncomplete: false,
              },
              arrivals: block.arrivals && withOneMore(state, block.arrivals, arrival, limits),
            }
          : block,
      );
      return { ...state, pending };
    }
    case 'gap':
    case 'early': {
      const until = arrival.at + (decision === 'gap' ? limits.gapMs : limits.earlyMs);
      return { ...state, held: [...state.held, { ...arrival, why: decision, until }] };
    }
    case 'contradiction': {
      const own = state.pending.find((block) => block.payloadId === payloadId);
      const over = state.past.some((payload) => payload.payloadId === payloadId);
      // Only waiting, it has nothing in the pre-confirmed state to take back.
      return over ? state : giveUp(state, payloadId, own?.number ?? Number.POSITIVE_INFINITY);
    }
    case 'duplicate':
    case 'stale':
    case 'abandoned':
    case 'overflow':
      return state;
  }
}

/** What is kept of a block with its next flashblock; undefined when all blocks together would have too much. */
function withOneMore(
  { pending }: SequenceState,
  arrivals: readonly Arrival[],
  next: Arrival,
  limits: SequenceLimits,
): readonly Arrival[] | undefined {
  const kept = pending.flatMap((block) => block.arrivals ?? []);
  return hasRoom(kept, next.flashblock, limits) ? [...arrivals, next] : undefined;
}
