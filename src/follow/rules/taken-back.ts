import { createHash } from 'node:crypto';
import { StoreError } from '../../store/error.ts';
import type { Store } from '../../store/interface.ts';
import type { Logger } from '../../telemetry/logger.ts';

/** Name under which a store keeps which rules it was followed by last. */
const RULES_META = 'followedBy';

export interface KnownRules {
  readonly text: string;
  /** Forks that they name and that this version does not know. */
  readonly unknownForks: readonly string[];
}

/**
 * Takes off blocks that were followed by state diffs, once they may be executed: the rules are others than at the last start.
 * Also where such blocks are not followed any more. What is too deep for that stays; throws where it may not.
 */
export async function takeBackByDiffs(
  { text, unknownForks }: KnownRules,
  isFollowed: boolean,
  { store, logger }: { readonly store: Store; readonly logger: Pick<Logger, 'info' | 'warn'> },
): Promise<void> {
  const marks = await store.marks();
  const rules = createHash('sha256').update(JSON.stringify({ text, unknownForks })).digest('hex');
  const last = await store.getMeta(RULES_META);
  if (last !== rules) await store.setMeta(RULES_META, rules);
  if (marks?.byDiffs === undefined) return;
  const { number } = marks.byDiffs;
  if (isFollowed && (last === undefined || last === rules)) return;
  try {
    await store.append([], { onto: number - 1 });
    logger.info({ from: number }, 'blocks that were followed by state diffs are taken off, and executed');
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'outOfRange') throw error;
    const words = `blocks from ${number} on were followed by state diffs, and are too deep to be executed`;
    if (!isFollowed)
      throw new Error(`${words}: use --unknown-fork follow-by-diffs, or another --data`, { cause: error });
    logger.warn(
      { err: error },
      `${words}: calls are forwarded on; with another --data they would be executed`,
    );
  }
}
