import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** How the native core names the threads of its pool for long calls. */
const POOL_THREAD = /^evm-\d/;
/** A third of the share of a thread that serves, where there are not enough cores for all. */
const NICENESS = 5;

/**
 * Has long calls give way to short ones: where all cores are busy, the system runs serving threads first. Linux only, where a
 * thread has a priority of its own.
 */
export function lowerPoolPriority(): void {
  if (process.platform !== 'linux') return;
  const tasks = '/proc/self/task';
  for (const task of readdirSync(tasks)) {
    if (POOL_THREAD.test(readFileSync(`${tasks}/${task}/comm`, 'utf8'))) setPriority(Number(task), NICENESS);
  }
}
