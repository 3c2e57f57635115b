import type {
  DashboardFacts,
  DashboardState,
  HeadBlock,
  LiveState,
  Note,
  PreconfirmedBlock,
  Stats,
} from '../../src/rpc/admin/state.ts';
import { Cell } from './cell.ts';
import { countsSince, percentile, sumOf } from './rates.ts';

const NOTES_KEPT = 50;
export const BLOCKS_KEPT = 40;
const POINTS_KEPT = 180;
/** Rates and percentiles are of so many seconds. */
const WINDOW = 10;
const RETRY_MS = 2_000;

export type Contact = 'connecting' | 'open' | 'lost' | 'full';

/** One second of the charts. */
export interface Point {
  readonly at: number;
  readonly rate: number | null;
  readonly p50: number | null;
  readonly p99: number | null;
}

/** The pre-confirmed block as it is shown: what was sealed stays until the next one begins. */
export interface ShownBlock extends PreconfirmedBlock {
  readonly state: 'filling' | 'sealed';
  readonly heardAt: number;
}

export const contact = new Cell<Contact>('connecting');
export const facts = new Cell<DashboardFacts | undefined>(undefined);
export const live = new Cell<LiveState | undefined>(undefined);
export const shownBlock = new Cell<ShownBlock | undefined>(undefined);
export const blocks = new Cell<readonly HeadBlock[]>([]);
/** The newest measures, and those of about ten seconds before. */
export const stats = new Cell<{ readonly now: Stats; readonly before: Stats } | undefined>(undefined);
export const points = new Cell<readonly Point[]>([]);
export const notes = new Cell<readonly Note[]>([]);

let past: readonly Stats[] = [];

function takeStats(now: Stats): void {
  const last = past.at(-1);
  if (last !== undefined && now.at <= last.at) return;
  past = [...past, now].slice(-WINDOW - 1);
  stats.set({ now, before: past[0] ?? now });
  if (last !== undefined) points.set([...points.value, pointOf(now, last)].slice(-POINTS_KEPT));
}

function pointOf(now: Stats, last: Stats): Point {
  const bounds = facts.value?.bounds ?? [];
  const all = countsSince(now, last);
  const seconds = (now.at - last.at) / 1_000;
  // Quantiles of one second jump; those of the window follow.
  const window = countsSince(now, past[0] ?? last);
  const ms = (share: number): number | null => {
    const value = percentile(window, bounds, share);
    return value === undefined ? null : value * 1_000;
  };
  return { at: now.at / 1_000, rate: seconds > 0 ? sumOf(all) / seconds : null, p50: ms(0.5), p99: ms(0.99) };
}

function takeLive(next: LiveState): void {
  const { head, pending } = next;
  live.set(next);
  const shown = shownBlock.value;
  if (pending !== undefined) shownBlock.set({ ...pending, state: 'filling', heardAt: Date.now() });
  else if (shown !== undefined) {
    const isSealed = head !== undefined && head.number >= shown.number;
    if (!isSealed) shownBlock.set(undefined);
    else if (shown.state === 'filling') shownBlock.set({ ...shown, state: 'sealed' });
  }
  if (head === undefined || head.hash === blocks.value.at(-1)?.hash) return;
  const below = blocks.value.filter(({ number }) => number < head.number);
  blocks.set([...below, head].slice(-BLOCKS_KEPT));
}

function takeAll(state: DashboardState): void {
  facts.set(state.facts);
  notes.set(state.notes);
  takeLive(state.live);
  if (state.stats !== undefined) takeStats(state.stats);
  contact.set('open');
}

/** Hears the node from now on; connects again whenever it is lost. */
export function connect(): void {
  const source = new EventSource('/dashboard/events');
  const on = <T>(name: string, take: (data: T) => void): void =>
    source.addEventListener(name, (event) => take(JSON.parse((event as MessageEvent<string>).data) as T));
  on('state', takeAll);
  on('live', takeLive);
  on('stats', takeStats);
  on<Note>('note', (note) => notes.set([...notes.value, note].slice(-NOTES_KEPT)));
  source.addEventListener('error', () => {
    source.close();
    void whyNot().then((why) => {
      contact.set(why);
      setTimeout(connect, RETRY_MS);
    });
  });
}

/** A node that answers has as many dashboards as it allows. */
async function whyNot(): Promise<Contact> {
  try {
    return (await fetch('/livez')).ok ? 'full' : 'lost';
  } catch {
    return 'lost';
  }
}
