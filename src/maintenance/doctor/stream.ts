import type { CommandOptions } from '../../config/table.ts';
import { systemClock } from '../../source/clock.ts';
import type { FlashblockObservation } from '../../source/flashblocks/events.ts';
import type { Flashblock } from '../../source/flashblocks/flashblock.ts';
import { DEFAULT_FLASHBLOCK_OPTIONS } from '../../source/flashblocks/options.ts';
import { FlashblockStream } from '../../source/flashblocks/stream.ts';
import { type Endpoint, parseEndpoints } from '../../source/transport/endpoint.ts';
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
  const endpoints = parseEndpoints(options.flashblocks ?? []);
  return Promise.all(endpoints.map((endpoint) => examineStream(endpoint, options, head, signal)));
}

async function examineStream(
  endpoint: Endpoint,
  { flashblockSilenceMs: silenceMs }: CommandOptions<'doctor'>,
  head: number | undefined,
  signal: AbortSignal,
): Promise<Section> {
  const section = new Section(`flashblocks ${endpoint.name}`);
  if (endpoint.transport !== 'ws') {
    section.fail('stream', 'not a WebSocket', 'name a ws or wss URL');
    return section;
  }
  const taken: { readonly flashblock: Flashblock; readonly at: number }[] = [];
  const seen: FlashblockObservation[] = [];
  const stop = new AbortController();
  const stream = new FlashblockStream(
    endpoint,
    { ...DEFAULT_FLASHBLOCK_OPTIONS.stream, silenceMs },
    {
      clock: systemClock,
      random: Math.random,
      observe: (event) => seen.push(event),
      take: (flashblock) => {
        taken.push({ flashblock, at: performance.now() });
        if (taken.length >= ENOUGH) stop.abort();
      },
    },
  );
  const patienceMs = silenceMs * PATIENCE;
  await stream.run(AbortSignal.any([signal, stop.signal, AbortSignal.timeout(patienceMs)]));
  const [first] = taken;
  const last = taken.at(-1);
  if (first === undefined || last === undefined) {
    const lost = seen.find((event) => event.kind === 'stream');
    section.fail(
      'stream',
      lost?.reason ?? `no flashblock within ${patienceMs} ms`,
      'check the URL, and that its builder is at work; --flashblock-silence-ms says how long one may be silent',
    );
    return section;
  }
  const pace =
    taken.length < 2 ? '' : `, one every ${Math.round((last.at - first.at) / (taken.length - 1))} ms`;
  const { blockNumber, index } = last.flashblock;
  section.ok('stream', `${taken.length} flashblocks${pace}; the newest is ${index} of block ${blockNumber}`);
  const { undecodable } = stream.health;
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
