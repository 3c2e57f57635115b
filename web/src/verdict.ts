import type { DashboardFacts, Note, Stats } from '../../src/rpc/admin/state.ts';
import type { Contact } from './feed.ts';
import { duration, rate } from './format.ts';
import { countsSince, sumOf } from './rates.ts';

/** How the node is, in one word for the colour, a few for the headline, and what follows from it. */
export interface Verdict {
  readonly level: 'ok' | 'warn' | 'bad' | 'unknown';
  readonly title: string;
  readonly detail: string;
}

/** A new copy is worth saying for so long. */
const ANCHOR_SHOWN_MS = 60_000;
/** Calls a second from which on it is called busy. */
const BUSY = 5;
/** Flashblocks come every 200 ms. */
const STALE_SECONDS = 2;

const TITLES: Readonly<Record<string, string>> = {
  draining: 'Shutting down',
  rulesTooOld: 'Rules too old',
  upstream: 'No upstream',
  store: 'Store trouble',
  worker: 'A thread hangs',
  'pre-confirmed age': 'Stale stream',
  'confirmed lag': 'Behind the chain',
};
/** What it means for whoever asks the node. */
const MEANINGS: Readonly<Record<string, string>> = {
  rulesTooOld: 'Blocks that it has verified are served on.',
  upstream: 'What it holds is served on; no new block is heard of.',
  'pre-confirmed age': 'Until one comes, pending answers as latest.',
};
/** What explains the others comes first. */
const ORDER = Object.keys(TITLES);

/** Whether pre-confirmed state should be there and is old. */
export function isStale(facts: DashboardFacts | undefined, { preconfirmedAge }: Stats): boolean {
  return facts?.preconfirms === true && (preconfirmedAge ?? 0) > STALE_SECONDS;
}

/** Judges what the page knows of the node. */
export function verdictOf(
  contact: Contact,
  facts: DashboardFacts | undefined,
  measured: { readonly now: Stats; readonly before: Stats } | undefined,
  notes: readonly Note[],
): Verdict {
  if (contact === 'lost')
    return {
      level: 'unknown',
      title: 'No contact',
      detail: 'The node does not answer. What is below is old.',
    };
  if (contact === 'full')
    return {
      level: 'unknown',
      title: 'Too many dashboards',
      detail: 'The node has as many pages open as it allows. This one tries again.',
    };
  if (measured === undefined) return { level: 'unknown', title: 'Connecting', detail: '' };
  const { now, before } = measured;
  const reasons = now.reasons.toSorted((a, b) => ORDER.indexOf(a.reason) - ORDER.indexOf(b.reason));
  const [first, ...others] = reasons;
  if (first !== undefined) {
    const more = others.length === 0 ? '' : `Also: ${others.map(({ reason }) => reason).join(', ')}.`;
    return {
      level: 'bad',
      title: TITLES[first.reason] ?? first.reason,
      detail: ['Not ready.', sentence(first.detail ?? ''), MEANINGS[first.reason] ?? '', more]
        .filter((part) => part !== '')
        .join(' '),
    };
  }
  if (isStale(facts, now))
    return {
      level: 'warn',
      title: 'Stale stream',
      detail: `No flashblock for ${duration(now.preconfirmedAge)}: pending is the confirmed head until one comes.`,
    };
  const anchored = notes.findLast(({ kind }) => kind === 'anchor');
  if (anchored !== undefined && now.at - anchored.at < ANCHOR_SHOWN_MS)
    return {
      level: 'warn',
      title: 'Re-anchored',
      detail: 'A new copy of the chain began. History grows from here.',
    };
  const [warning] = now.warnings;
  if (warning !== undefined)
    return { level: 'warn', title: 'Ready, with a warning', detail: sentence(warning) };
  return { level: 'ok', ...workload(now, before) };
}

function workload(now: Stats, before: Stats): Pick<Verdict, 'title' | 'detail'> {
  const seconds = Math.max(1, (now.at - before.at) / 1_000);
  const perSecond = sumOf(countsSince(now, before)) / seconds;
  if (perSecond < 0.5)
    return { title: 'Ready, idle', detail: 'Every block verified here. Nobody asks at the moment.' };
  return {
    title: perSecond < BUSY ? 'Ready' : 'Ready, busy',
    detail: `Serving ${rate(perSecond)} calls a second.`,
  };
}

function sentence(text: string): string {
  if (text === '') return '';
  const begun = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
