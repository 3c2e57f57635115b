import type { CommandOptions } from '../../config/table.ts';
import { systemClock } from '../../source/clock.ts';
import type { FlashblockObservation } from '../../source/flashblocks/events.ts';
import { type FeedAddress, type FeedKind, parseFeeds } from '../../source/flashblocks/feeds/address.ts';
import type { FeedModules } from '../../source/flashblocks/feeds/feed.ts';
import { PendingPolling } from '../../source/flashblocks/feeds/polling.ts';
import type { Flashblock } from '../../source/flashblocks/flashblock.ts';
import { DEFAULT_FLASHBLOCK_OPTIONS } from '../../source/flashblocks/options.ts';
import { FlashblockStream } from '../../source/flashblocks/stream.ts';
import { Section } from './report.ts';

/** Flashblocks that say enough of a stream. */
const ENOUGH = 6;
/** Looks as long as a stream may be silent, this many times. */
const PATIENCE = 4;

/** What streams of flashblocks send within a few seconds; `head` is the best upstream's. */
export async function examineStreams(
  options: CommandOptions<'doctor'>,
  head: number | undefined,
  signal: AbortSignal,
): Promise<readonly Section[]> {
  const feeds = parseFeeds(options.flashblocks ?? []);
  return Promise.all(feeds.map((feed) => examineStream(feed, options, head, signal)));
}

const KINDS: Readonly<Record<FeedKind, string>> = {
  raw: 'a raw stream',
  newFlashblocks: 'whole blocks by newFlashblocks',
  polling: 'whole blocks by polling pending',
};

async function examineStream(
  { endpoint, kind }: FeedAddress,
  { flashblockSilenceMs: silenceMs, flashblockPollMs: intervalMs }: CommandOptions<'doctor'>,
  head: number | undefined,
  signal: AbortSignal,
): Promise<Section> {
  const section = new Section(`flashblocks ${endpoint.name}`);
  const taken: { readonly flashblock: Flashblock; readonly at: number }[] = [];
  const seen: FlashblockObservation[] = [];
  const stop = new AbortController();
  const modules: FeedModules = {
    clock: systemClock,
    random: Math.random,
    observe: (event) => seen.push(event),
    // Nothing is executed here.
    encode: () => [],
    admits: () => true,
    take: (flashblock) => {
      if (flashblock !== undefined) taken.push({ flashblock, at: performance.now() });
      if (taken.length >= ENOUGH) stop.abort();
    },
  };
  const options = { ...DEFAULT_FLASHBLOCK_OPTIONS.stream, silenceMs };
  const stream =
    kind === 'polling'
      ? new PendingPolling(endpoint, { ...options, ...DEFAULT_FLASHBLOCK_OPTIONS.poll, intervalMs }, modules)
      : new FlashblockStream(endpoint, options, modules, kind);
  const patienceMs = silenceMs * PATIENCE;
  await stream.run(AbortSignal.any([signal, stop.signal, AbortSignal.timeout(patienceMs)]));
  const [first] = taken;
  const last = taken.at(-1);
  if (first === undefined || last === undefined) {
    const lost = seen.find((event) => event.kind === 'stream');
    const unread = seen.find((event) => event.kind === 'undecodable');
    section.fail(
      'stream',
      lost?.reason ?? unread?.reason ?? `no flashblock within ${patienceMs} ms`,
      'check the URL, and that its builder is at work; --flashblock-silence-ms says how long one may be silent',
    );
    return section;
  }
  const pace =
    taken.length < 2 ? '' : `, one every ${Math.round((last.at - first.at) / (taken.length - 1))} ms`;
  const { blockNumber, index } = last.flashblock;
  const { undecodable, isVerified, kind: found = 'raw' } = stream.health;
  section.ok(
    'stream',
    `${KINDS[found]}: ${taken.length} flashblocks${pace}; the newest is ${index} of block ${blockNumber}`,
  );
  if (!isVerified) {
    section.warn(
      'roots',
      'its blocks have no receipts root',
      'what it tells is executed, and cannot be verified',
    );
  }
  if (undecodable > 0) {
    section.warn('messages', `${undecodable} were no flashblocks`, 'ask its operator what else it sends');
  }
  if (head === undefined) return section;
  if (blockNumber > head) section.ok('place', `ahead of block ${head}, the head of the upstreams`);
  else {
    section.warn(
      'place',
      `behind block ${head}, the head of the upstreams`,
      'of another chain, or too late to pre-confirm anything: use a nearer stream',
    );
  }
  return section;
}
