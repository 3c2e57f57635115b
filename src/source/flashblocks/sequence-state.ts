import type { BlockRef } from '../../chain/outcome.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { Flashblock } from './flashblock.ts';

/** A flashblock with where and when it came. */
export interface Arrival {
  readonly flashblock: Flashblock;
  readonly stream: string;
  readonly at: number;
}

/** What is remembered of a flashblock that was taken. */
export interface Seen {
  readonly digest: string;
  readonly stream: string;
  readonly at: number;
}

/** A block whose flashblocks were passed on, from index 0 without a hole. */
export interface PendingBlock {
  readonly payloadId: Hex;
  readonly number: number;
  /** Hash after its last flashblock: what the next block names as its parent. Undefined where its builder does not say it. */
  readonly hash: Hex | undefined;
  /** What it says it stands on: where the block below has no hash of its own, this is what is known of it. */
  readonly parentHash: Hex | undefined;
  /** By index. */
  readonly seen: readonly Seen[];
  /** All of it, while it stands on a block without a hash, to begin again with; undefined where that is not needed, or too much. */
  readonly arrivals: readonly Arrival[] | undefined;
  /** What began on it did not fit: it lacks something, so nothing else begins on it before it is sealed or goes on. */
  readonly isIncomplete: boolean;
}

/** One that waits: for those before it (`gap`), or for the parent of its block (`early`). */
export interface Held extends Arrival {
  readonly why: 'gap' | 'early';
  readonly until: number;
}

/** Why nothing of a payload is passed on any more. */
export type Fate = 'sealed' | 'replaced' | 'givenUp';

export interface PastPayload {
  readonly payloadId: Hex;
  readonly fate: Fate;
  readonly seen: ReadonlyMap<number, Seen>;
}

/** All that the validator knows. Never changed in place. */
export interface SequenceState {
  /** The newest canonical block that flashblocks can build on. */
  readonly head: BlockRef | undefined;
  /** Oldest first; each stands on the one before, the first on the head. */
  readonly pending: readonly PendingBlock[];
  /** In order of arrival. */
  readonly held: readonly Held[];
  /** Oldest first. */
  readonly past: readonly PastPayload[];
}

export interface SequenceLimits {
  /** How long a hole may be filled by another stream. */
  readonly gapMs: number;
  /** How long an index 0 waits for its parent. */
  readonly earlyMs: number;
  readonly maxHeld: number;
  readonly maxHeldBytes: number;
  /** Pre-confirmed blocks on top of the head. */
  readonly maxPendingBlocks: number;
}

export const emptySequence: SequenceState = { head: undefined, pending: [], held: [], past: [] };

/** Payloads remembered after their end; streams are never this far apart and still of use. */
const PAST_PAYLOADS = 64;

export const seenOf = ({ flashblock, stream, at }: Arrival): Seen => ({
  digest: flashblock.digest,
  stream,
  at,
});

/** What came before under the same payload id and index. */
export function seenBefore(state: SequenceState, { payloadId, index }: Flashblock): Seen | undefined {
  const pending = state.pending.find((block) => block.payloadId === payloadId)?.seen[index];
  if (pending !== undefined) return pending;
  const held = state.held.find(
    ({ flashblock }) => flashblock.payloadId === payloadId && flashblock.index === index,
  );
  if (held !== undefined) return seenOf(held);
  return state.past.find((payload) => payload.payloadId === payloadId)?.seen.get(index);
}

/** Ends these pending blocks, and with them what is held of their payloads. */
export function endPending(state: SequenceState, ended: readonly PendingBlock[], fate: Fate): SequenceState {
  const pending = state.pending.filter((block) => !ended.includes(block));
  const past = ended.map(({ payloadId, seen }) => ({ payloadId, fate, seen: new Map(seen.entries()) }));
  return dropHeldOfPast({ ...state, pending, past: [...state.past, ...past] });
}

/** Ends a payload wherever it stands, and every pending block from `from` on. */
export function giveUp(state: SequenceState, payloadId: Hex, from: number): SequenceState {
  const own = state.held.filter(({ flashblock }) => flashblock.payloadId === payloadId);
  const ended = state.pending.filter((block) => block.number >= from);
  const rest = endPending(state, ended, 'givenUp');
  const earlier = rest.past.find((payload) => payload.payloadId === payloadId);
  const seen = new Map([
    ...(earlier?.seen ?? []),
    ...own.map((held) => [held.flashblock.index, seenOf(held)] as const),
  ]);
  const past = rest.past.filter((payload) => payload !== earlier);
  return dropHeldOfPast({ ...rest, past: [...past, { payloadId, fate: 'givenUp', seen }] });
}

/** True when one more can be held, or kept to begin again with. */
export function hasRoom(kept: readonly Arrival[], more: Flashblock, limits: SequenceLimits): boolean {
  const bytes = kept.reduce((sum, { flashblock }) => sum + flashblock.text.length, more.text.length);
  return kept.length < limits.maxHeld && bytes <= limits.maxHeldBytes;
}

/** Has pending blocks from a number on wait for their parents again, as if they had just come; those that cannot are given up. */
export function setBack(
  state: SequenceState,
  from: number,
  at: number,
  limits: SequenceLimits,
): SequenceState {
  const ended = state.pending.filter(({ number }) => number >= from);
  const kept = { ...state, pending: state.pending.filter((block) => !ended.includes(block)) };
  let held: readonly Held[] = [];
  for (const [place, { arrivals }] of ended.entries()) {
    const last = arrivals?.at(-1);
    const more = (arrivals ?? []).map((arrival) => ({
      ...arrival,
      why: 'early' as const,
      until: at + limits.earlyMs,
    }));
    const others = [...held, ...more.slice(0, -1), ...state.held];
    // Without it, there is nothing for those above to stand on either.
    if (last === undefined || !hasRoom(others, last.flashblock, limits)) {
      return endPending({ ...kept, held: [...held, ...state.held] }, ended.slice(place), 'givenUp');
    }
    held = [...held, ...more];
  }
  return { ...kept, held: [...held, ...state.held] };
}

function dropHeldOfPast(state: SequenceState): SequenceState {
  const past = state.past.slice(-PAST_PAYLOADS);
  const over = new Set(past.map(({ payloadId }) => payloadId));
  const held = state.held.filter(({ flashblock }) => !over.has(flashblock.payloadId));
  return { ...state, past, held };
}
