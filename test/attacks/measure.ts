import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Checks, say } from '../support/checks.ts';
import { residentBytes, until } from '../support/servers/process.ts';
import type { HonestReport } from './honest.ts';
import type { AttackRig } from './rig.ts';
import { watchHonest } from './watch.ts';

export const LAG_MS = 1_000;
const WARM_UP_MS = 6_000;
const SETTLE_MS = 300;
/** Memory after the attacks, above what it was before, and how long it may take to come back. */
const LEFT_BYTES = 100 * 2 ** 20;
const COMES_BACK_MS = 30_000;
/** How often something is measured at most. */
const MAX_TIMES = 3;

export const mib = (bytes: number): number => Math.round(bytes / 2 ** 20);
export const ms = (value: number): string => value.toFixed(0);

/** What was seen while something went on. */
export interface Measured<T> {
  readonly result: T;
  readonly honest: HonestReport;
  readonly longestTurnMs: number;
  readonly longestCollectionMs: number;
  /** The longest that a block took from being sealed to being served. */
  readonly lagMs: number;
}

/** A node whose honest clients are watched, and when the blocks it has to follow were sealed. */
export type Watched = Pick<AttackRig, 'node' | 'sealedAt'>;

/** Does something while honest clients ask and blocks are made. */
export async function measure<T>(
  rig: Watched,
  run: () => Promise<T>,
  watch: () => () => Promise<HonestReport> = () => watchHonest(rig.node.port),
): Promise<Measured<T>> {
  const started = Date.now();
  const endHonest = watch();
  await pause(SETTLE_MS);
  let result: T;
  let ended: number;
  let honest: HonestReport;
  try {
    result = await run();
    ended = Date.now();
    // Blocks sealed during the attack are seen after it, at the latest.
    if (rig.node.death === undefined) await pause(LAG_MS + 200);
  } finally {
    honest = await endHonest();
  }
  let lagMs = 0;
  for (const [number, at] of rig.sealedAt) {
    if (at < started + SETTLE_MS || at > ended) continue;
    // A head that nobody saw was followed by another that somebody did, or by none.
    const later = honest.heads.filter(([head]) => head >= number).map(([, when]) => when);
    lagMs = Math.max(lagMs, Math.min(...later, ended + 10 * LAG_MS) - at);
  }
  const { turnMs, collectionMs } = await rig.node.longest(started);
  return { result, honest, longestTurnMs: turnMs, longestCollectionMs: collectionMs, lagMs };
}

/**
 * The same, up to three times if it was not good enough: what an attack does, it does each time, and what the machine did
 * meanwhile it does not. Says why it is done again, and how much of the time the machine did not have its processors.
 */
export async function measureRepeatedly<T>(
  rig: Watched,
  run: () => Promise<T>,
  isGood: (measured: Measured<T>) => boolean,
): Promise<Measured<T>> {
  for (let left = MAX_TIMES; ; left--) {
    const stolenBefore = stolenMs();
    const measured = await measure(rig, run);
    if (left === 1 || isGood(measured) || rig.node.death !== undefined) return measured;
    const { honest, longestTurnMs, lagMs } = measured;
    say(
      `(again: p99 ${ms(honest.p99)} max ${ms(honest.max)} ms, turn ${ms(longestTurnMs)} ms, lag ${ms(lagMs)} ms, ` +
        `while ${ms(stolenMs() - stolenBefore)} ms of the processors were taken from this machine)`,
    );
  }
}

/** Time that this machine's processors were somebody else's, as a hypervisor tells it; in steps of 10 ms. */
function stolenMs(): number {
  return Number(readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/\s+/)[8] ?? 0) * 10;
}

/** Has honest clients use the node for a while; the memory it has then. */
export async function warmUp(rig: AttackRig, watch?: () => () => Promise<HonestReport>): Promise<number> {
  await measure(rig, () => pause(WARM_UP_MS), watch);
  const bytes = residentBytes(rig.node.pid) ?? 0;
  say(`after warm-up ${mib(bytes)} MiB`);
  rig.node.takePeak();
  return bytes;
}

/** Memory must come back to about what it was before. */
export async function expectMemoryBack(checks: Checks, { node }: AttackRig, before: number): Promise<void> {
  const started = performance.now();
  const isBack = (): true | undefined =>
    (residentBytes(node.pid) ?? 0) <= before + LEFT_BYTES ? true : undefined;
  const comesBack = await until('memory to come back', isBack, COMES_BACK_MS).catch(() => false);
  const after = residentBytes(node.pid) ?? 0;
  const took = ((performance.now() - started) / 1_000).toFixed(1);
  say(`memory: ${mib(before)} MiB before, ${mib(after)} MiB ${took} s after`);
  if (!comesBack) await sayWhatHoldsMemory(node.adminUrl);
  checks.check('memory comes back', comesBack, `${mib(before)} MiB before, ${mib(after)} MiB after`);
}

async function sayWhatHoldsMemory(adminUrl: string): Promise<void> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  const ofMemory = /^chain_query_(?:isolate_memory|allocator|native_live|client|resident)_?bytes\S* \d+$/gm;
  for (const [line] of metrics.matchAll(ofMemory)) say(line);
}
