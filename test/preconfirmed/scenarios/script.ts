import type { Fault } from '../../support/flashblocks/faults.ts';
import type { Form } from '../../support/flashblocks/forms.ts';
import { Random } from '../../support/random.ts';

/** Everything that goes wrong here. */
export const kinds = [
  ...(['lose', 'duplicate', 'swap', 'delay', 'garble', 'twist', 'contradict', 'oneFaulty'] as const),
  ...(['rebuild', 'early', 'silence', 'cut', 'sealOther', 'reorganise', 'loseLast', 'otherParent'] as const),
] as const;

export type Kind = (typeof kinds)[number];

/** What a false flashblock is false about. */
export const claims = ['gas_used', 'receipts_root', 'logs_bloom', 'block_hash', 'state_root'] as const;

export type Claim = (typeof claims)[number];

/** What a stream of a form can be false about: where hashes are left out, they are no claims. */
const claimsOf: Readonly<Record<Form, readonly Claim[]>> = {
  real: claims,
  zeroRoot: claims,
  allZero: ['gas_used', 'receipts_root', 'logs_bloom'],
};

export const streamCount = 2;

/** What befalls one message on its way over one stream. */
export type MessageFault = Fault | { readonly twist: Claim };

/** One block: how it is built, what is published of it, and how it ends. */
export interface ActScript {
  readonly kinds: readonly Kind[];
  /** Flashblocks after index 0. */
  readonly parts: number;
  /** Actions of the workload in it. */
  readonly actions: number;
  /** Index 0 comes before the end of the block below. */
  readonly early: boolean;
  /** With `early`: after how many flashblocks the block below ends. */
  readonly endBelowAfter: number;
  /** With `early`: its parent is what the block below ends as, even if nobody knows of that yet. */
  readonly onSealed: boolean;
  /** An index 0 on top of it stands on a block that nobody ever hears of. */
  readonly orphan: boolean;
  /** It begins again after so many flashblocks. */
  readonly rebuildAfter?: number;
  /** By stream, then by index, of its last attempt. */
  readonly faults: readonly ReadonlyMap<number, MessageFault>[];
  /** After which index of its last attempt streams are cut, and which. */
  readonly cut?: { readonly after: number; readonly streams: readonly number[] };
  /** After which index of its last attempt all streams are silent. */
  readonly silentAfter?: number;
  /** Another block takes its place; or so many confirmed ones are taken back with it, for `length` others. */
  readonly end: 'sealed' | 'other' | { readonly depth: number; readonly length: number };
  /** What is missing is waited for, before the block ends. */
  readonly waits: boolean;
  /** Nothing of it may be missing in the end. */
  readonly whole: boolean;
}

/** What happens in one run; after it, one block without faults shows that our node has recovered. */
export interface RunScript {
  readonly kinds: readonly Kind[];
  readonly acts: readonly ActScript[];
}

/** Limits of the node under test, and delays that stay well below or above the first. */
export const gapMs = 250;
export const earlyMs = 400;
export const silenceMs = 500;
const shortDelay = { from: 5, to: 30 };
const longDelay = { from: gapMs + 30, to: gapMs + 80 };

const pairs = kinds.flatMap((one, at) => kinds.slice(at + 1).map((other) => [one, other]));
/** Has no factor in common with the number of pairs: a few of them in a row are of every kind. */
const pairStride = 37;

/** Each kind by itself, then each pair. */
const combinations: readonly (readonly Kind[])[] = [
  ...kinds.map((kind) => [kind]),
  ...pairs.map((_, at) => pairs[(at * pairStride) % pairs.length] ?? []),
];

/** What takes away no message for good. */
const harmless: ReadonlySet<Kind> = new Set([
  ...(['duplicate', 'swap', 'delay', 'oneFaulty', 'rebuild', 'early', 'sealOther', 'reorganise'] as const),
  'otherParent',
]);

/** What shows only once the next block begins, before this one ends. */
const needsNext: readonly Kind[] = ['loseLast', 'otherParent'];

export function scriptOf(seed: number, run: number, form: Form = 'real'): RunScript {
  const random = new Random(seed ^ 0x5bd1e995, run);
  const chosen = combinations[run % combinations.length] ?? [];
  const together = chosen.length === 1 || random.chance(0.5);
  const shuffled = random.chance(0.5) ? chosen : chosen.toReversed();
  const apart = together ? [shuffled] : shuffled.map((kind) => [kind]);
  const groups = apart.flatMap((group, at): (readonly Kind[])[] => {
    const next = apart[at + 1] ?? [];
    return group.some((kind) => needsNext.includes(kind)) && !next.includes('early')
      ? [group, ['early']]
      : [group];
  });
  const acts = groups.map((group, at) => actOf(group, groups[at - 1] ?? [], random, { ofRun: chosen, form }));
  return { kinds: chosen, acts };
}

/** A block that nothing befalls. */
export function plainAct(random: Random): ActScript {
  return actOf([], [], random);
}

function actOf(
  chosen: readonly Kind[],
  before: readonly Kind[],
  random: Random,
  { ofRun = [], form = 'real' }: { readonly ofRun?: readonly Kind[]; readonly form?: Form } = {},
): ActScript {
  const parts = random.between(2, 4);
  const has = (kind: Kind): boolean => chosen.includes(kind);
  const faults = Array.from({ length: streamCount }, () => new Map<number, MessageFault>());
  const onAll = (index: number, fault: MessageFault): void => {
    for (const ofStream of faults) ofStream.set(index, fault);
  };
  // Not the last one: what follows shows that it is missing, or late.
  const somewhere = (): number => random.below(parts);
  const isLong = random.chance(0.5);
  // First: the others befall only some of the messages.
  if (has('duplicate')) for (let index = 0; index <= parts; index += 1) onAll(index, 'duplicate');
  if (has('oneFaulty')) spoilOne(random, parts, random.pick(faults));
  if (has('contradict')) random.pick(faults).set(random.between(0, parts), twist(random, form));
  if (has('swap')) onAll(somewhere(), 'swap');
  if (has('delay')) {
    const { from, to } = isLong ? longDelay : shortDelay;
    onAll(somewhere(), { delayMs: random.between(from, to) });
  }
  if (has('garble')) onAll(somewhere(), 'garble');
  if (has('lose')) onAll(somewhere(), 'lose');
  if (has('twist')) onAll(random.between(0, parts), twist(random, form));
  if (has('loseLast')) onAll(parts, 'lose');
  const streams = random.pick([[0], [1], [0, 1]]);
  const depth = random.between(1, 2);
  const length = random.between(Math.max(1, depth - 1), depth + 1);
  return {
    kinds: chosen,
    parts,
    actions: random.between(3, 9),
    early: has('early'),
    endBelowAfter: before.some((kind) => needsNext.includes(kind)) ? random.between(1, parts) : 1,
    onSealed: before.includes('otherParent'),
    // A chain that gets shorter leaves it above all that follows, where it counts as news.
    orphan: has('early') && !ofRun.includes('reorganise') && random.chance(0.3),
    ...(has('rebuild') ? { rebuildAfter: random.between(1, parts) } : {}),
    faults,
    ...(has('cut') ? { cut: { after: somewhere(), streams } } : {}),
    ...(has('silence') ? { silentAfter: random.between(0, parts) } : {}),
    end: has('reorganise') ? { depth, length } : has('sealOther') || has('otherParent') ? 'other' : 'sealed',
    waits: random.chance(0.5),
    whole: isWhole(chosen, before) && !(has('delay') && isLong),
  };
}

/** Whether all of a block must be seen, after what befell the one before. */
function isWhole(chosen: readonly Kind[], before: readonly Kind[]): boolean {
  // Streams may not be back yet; or the block taken back has the same number, and is seen in its place.
  if (before.includes('cut') || before.includes('reorganise')) return false;
  // What came before the false one below was executed, or before another stream contradicted it, stands on it and goes with it.
  if (before.includes('twist') || before.includes('contradict')) return false;
  // Early on a block that is not known, it may have to wait for longer than it is kept.
  if (chosen.includes('early') && before.length > 0) return false;
  return chosen.every((kind) => harmless.has(kind));
}

function twist(random: Random, form: Form): MessageFault {
  return { twist: random.pick(claimsOf[form]) };
}

/** The other stream has all that this one gets wrong. */
function spoilOne(random: Random, parts: number, faults: Map<number, MessageFault>): void {
  for (let index = 0; index <= parts; index += 1) {
    const fault = random.weighted<MessageFault | undefined>([
      [3, () => undefined],
      [2, () => 'lose'],
      [2, () => 'garble'],
      [1, () => 'swap'],
      [1, () => ({ delayMs: random.between(shortDelay.from, longDelay.to) })],
    ]);
    if (fault !== undefined) faults.set(index, fault);
  }
  faults.set(random.below(parts), 'lose');
}

/** For a report. */
export function describe({ acts }: RunScript): string {
  return acts
    .map(({ faults, ...act }) =>
      JSON.stringify({ ...act, faults: faults.map((ofStream) => Object.fromEntries(ofStream)) }),
    )
    .join('\n    ');
}
