import { setTimeout as pause } from 'node:timers/promises';
import { HeadError } from '../../head/errors.ts';
import type { Head } from '../../head/head.ts';
import type { Snapshot } from '../../head/snapshot.ts';
import { StateUnavailableError, TakenOffError } from '../../primitives/errors.ts';
import { isExpected } from './error-map.ts';

/** The most that one block may take to be executed and written; a new one is there long before. */
const MAX_MOVING_MS = 500;
const CHECK_MS = 5;

/** The store may have told its reader of a reorg before anybody has told the head. */
export function refresh(head: Pick<Head, 'refresh'>): Promise<void> {
  // A store that cannot be read fails the request by itself.
  return head.refresh().catch(() => undefined);
}

/** The same after an error. Hot state leaves a block a moment before store and head do: who has seen that waits for them. */
export async function headMoved(
  head: Pick<Head, 'refresh' | 'snapshot'>,
  snapshot: Snapshot,
  error: unknown,
): Promise<void> {
  const until = performance.now() + (error instanceof TakenOffError ? MAX_MOVING_MS : 0);
  await refresh(head);
  while (head.snapshot() === snapshot && performance.now() < until) {
    await pause(CHECK_MS);
    await refresh(head);
  }
}

/** Whether what was read left the chain meanwhile. */
export function isReorganised(error: unknown): boolean {
  return error instanceof HeadError && error.type.code === 'REORGANISED';
}

/** Blocks that were taken off the chain show themselves below as state that cannot be had, in several words. */
export function mayBeReorganised(error: unknown): boolean {
  return error instanceof StateUnavailableError || !isExpected(error);
}
