import { setTimeout as delay } from 'node:timers/promises';
import { isUnavailable, StoreError } from '../../error.ts';
import { create, RootRow, readRoot, type Stored } from '../root.ts';
import type { Session } from '../session.ts';

/** Looks at the row per lease: a takeover is that much late. */
const LOOKS_A_LEASE = 10;

export interface LeaseOptions {
  readonly chain: string;
  /** Who this is, for operators. */
  readonly holder: string;
  /** A holder whose row has not changed for so long is gone. */
  readonly leaseMs: number;
  /** Whoever waits longer gives up. */
  readonly patienceMs?: number | undefined;
  /** Told once that another is alive, from when on its silence is counted. */
  readonly onWait?: (() => void) | undefined;
}

/**
 * Waits for the right to write a chain, and takes it. A holder shows that it is alive by changing its row. Whether it is too long ago is
 * judged by this process's own steady clock, from when it saw the row change last: no two clocks are ever compared.
 */
export async function waitForLease(
  session: Session,
  { chain, holder, leaseMs, patienceMs = Number.POSITIVE_INFINITY, onWait }: LeaseOptions,
  signal: AbortSignal,
): Promise<RootRow> {
  let seen: Stored | undefined;
  let seenAt = 0;
  const began = performance.now();
  const look = async (): Promise<RootRow | undefined> => {
    const stored = await readRoot(session, chain, 'committed');
    if (stored === undefined) {
      await create(session, chain);
      return undefined;
    }
    if (seen === undefined || stored.epoch !== seen.epoch || stored.seq !== seen.seq) {
      if (seen === undefined && stored.holder !== '') onWait?.();
      seen = stored;
      seenAt = performance.now();
    }
    if (stored.holder !== '' && performance.now() - seenAt < leaseMs) return undefined;
    // Taken as of now: a change of the last holder may still have been under way.
    const now = await readRoot(session, chain);
    const isSame = now !== undefined && now.epoch === seen.epoch && now.seq === seen.seq;
    return isSame ? RootRow.takeFrom(session, chain, holder, now) : undefined;
  };
  for (;;) {
    signal.throwIfAborted();
    try {
      const row = await look();
      if (row !== undefined) return row;
    } catch (error) {
      // Servers that do not answer may do so again: whoever waits goes on waiting.
      if (!isUnavailable(error)) throw error;
    }
    if (performance.now() - began > patienceMs)
      throw new StoreError('inUse', `another process writes chain ${chain}`);
    await delay(leaseMs / LOOKS_A_LEASE, undefined, { signal });
  }
}
