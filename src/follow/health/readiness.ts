import type { BlockRef } from '../../chain/outcome.ts';
import type { Options } from '../../config/table.ts';
import { blocksIn } from '../../primitives/block-span.ts';
import type { UpstreamStatus } from '../../source/interface.ts';

/** One reason not to send requests here. */
export interface ReadinessIssue {
  readonly reason: 'confirmed lag' | 'pre-confirmed age' | 'store' | 'upstream' | 'rulesTooOld';
  readonly detail: string;
}

/** How a copy is doing. */
export interface Condition {
  readonly head: BlockRef | undefined;
  /** Blocks behind the newest head that an upstream named. */
  readonly lag: number | undefined;
  readonly issues: readonly ReadinessIssue[];
  /** The upstream whose chain is followed. */
  readonly leader?: string | undefined;
  /** What an operator should know, though requests can be sent here. */
  readonly warnings?: readonly string[];
}

type ReadinessOptions = Pick<
  Options,
  'readyLag' | 'readyUpstreamMs' | 'readyConfirmedMs' | 'readyPreconfirmedMs'
>;

/** What readiness is judged by. */
export interface FollowedState {
  /** Blocks behind the newest head that an upstream named. */
  readonly lag: number;
  /** Between two blocks; undefined where it is not known. */
  readonly blockTimeMs: number | undefined;
  /** Why the head cannot be reached now. */
  readonly trouble: string | undefined;
  /** Why our rules are too old for the chain (B16). */
  readonly rulesTooOld?: string | undefined;
  /** Since when no upstream answers, and why. */
  readonly outage: { readonly ms: number; readonly reason: string } | undefined;
  /** Time since an upstream last named our head. */
  readonly confirmedAgeMs: number;
  /** Time since the last flashblock; 0 without streams. */
  readonly preconfirmedAgeMs: number;
  readonly upstreams: readonly UpstreamStatus[];
}

/** A node that is about to take in the newest block is not behind, however much time is between two. */
const LEAST_LAG = 2;

const inSeconds = (ms: number): number => Math.round(ms / 1_000);

/** What speaks against sending requests to a node that follows a chain, and what its operator should know. */
export function readinessOf(
  options: ReadinessOptions,
  {
    lag,
    blockTimeMs,
    trouble,
    rulesTooOld,
    outage,
    confirmedAgeMs,
    preconfirmedAgeMs,
    upstreams,
  }: FollowedState,
): Pick<Condition, 'issues' | 'warnings'> {
  const issues: ReadinessIssue[] = [];
  if (rulesTooOld !== undefined) issues.push({ reason: 'rulesTooOld', detail: rulesTooOld });
  const tooFar = Math.max(LEAST_LAG, blocksIn(options.readyLag, blockTimeMs));
  if (trouble !== undefined || lag >= tooFar) {
    const why = trouble === undefined ? '' : `: ${trouble}`;
    issues.push({ reason: 'confirmed lag', detail: `${lag} blocks behind the upstream${why}` });
  }
  if (outage !== undefined && outage.ms >= options.readyUpstreamMs) {
    issues.push({
      reason: 'upstream',
      detail: `no answer for ${inSeconds(outage.ms)} s: ${outage.reason}`,
    });
  } else if (confirmedAgeMs >= options.readyConfirmedMs) {
    const detail = `no upstream has named our head for ${inSeconds(confirmedAgeMs)} s`;
    issues.push({ reason: 'upstream', detail });
  }
  const excluded = upstreams.flatMap(exclusionOf);
  const allExcluded = excluded.length === upstreams.length;
  // Their heads are not listened to: without this, a node that follows nobody would look well.
  if (allExcluded) issues.push({ reason: 'upstream', detail: excluded.join('; ') });
  if (preconfirmedAgeMs >= options.readyPreconfirmedMs) {
    const detail = `no flashblock for ${inSeconds(preconfirmedAgeMs)} s`;
    issues.push({ reason: 'pre-confirmed age', detail });
  }
  return { issues, warnings: allExcluded ? [] : excluded };
}

/** Why an upstream is not used, in words. */
function exclusionOf({ name, outForMs, otherChain }: UpstreamStatus): string[] {
  if (otherChain !== undefined) return [`${name} is of another chain, ${otherChain}, and is not used`];
  const seconds = Math.ceil(outForMs / 1_000);
  return outForMs > 0 ? [`${name} is banned for lying, for another ${seconds} s`] : [];
}
