import type { Target } from '../target.ts';
import * as crowds from './crowds.ts';
import * as filters from './filters.ts';
import * as calls from './long-calls.ts';
import * as slow from './slow-readers.ts';

export interface ClientAttack {
  readonly run: (target: Target, place: calls.ListPlace) => Promise<void>;
  /** What it needs to show itself, where that is not the usual. */
  readonly forMs?: number;
  /** Other limits than all have, in milliseconds, with the reason beside it. */
  readonly limits?: { readonly p99?: number; readonly turn?: number };
}

/**
 * Each request takes a piece of 10 to 40 ms of a serving thread, and one client sends many at once. None of them is too much; how
 * much one client gets of all is shared out by nobody yet.
 */
const PIECES = { p99: 150, turn: 100 };

/** Every attack of a client, by name. */
export const CLIENT_ATTACKS: Readonly<Record<string, ClientAttack>> = {
  'websocket-never-reads': { run: slow.webSocketNeverReads },
  'pings-without-reading': { run: slow.pingsWithoutReading },
  'pipelined-never-read': { run: slow.pipelinedNeverRead },
  'answers-never-taken': { run: slow.answersNeverTaken },
  // Each connection is cut after its first read, but node:http parses that to its end: 25 ms for 64 KiB, on as many
  // connections as a client opens.
  'one-byte-chunks': { run: slow.oneByteChunks, limits: { p99: 200, turn: 100 } },
  'one-byte-fragments': { run: slow.oneByteFragments },
  'resumes-never-read': { run: slow.resumesNeverRead, limits: PIECES },
  'reverting-batches': { run: slow.revertingBatches },
  'unfinished-messages': { run: slow.unfinishedMessages },
  'unknown-state': { run: calls.unknownState, forMs: 6_000, limits: PIECES },
  'lists-at-old-blocks': { run: calls.listsAtOldBlocks, forMs: 6_000 },
  'invalid-kzg-proofs': { run: calls.invalidKzgProofs, limits: { turn: 100 } },
  'few-invalid-kzg-proofs': { run: calls.fewInvalidKzgProofs },
  'valid-kzg-proofs': { run: calls.validKzgProofs },
  'bad-pairings': { run: calls.badPairings },
  'good-pairings': { run: calls.goodPairings },
  authorizations: { run: calls.authorizations, limits: PIECES },
  'state-diffs': { run: calls.stateDiffs, limits: PIECES },
  'empty-overrides': { run: calls.emptyOverrides, limits: PIECES },
  'long-code': { run: calls.longCode, limits: PIECES },
  'access-lists': { run: calls.accessLists, limits: PIECES },
  'access-list-slots': { run: calls.accessListSlots, limits: PIECES },
  'long-call-data': { run: calls.longCallData, limits: PIECES },
  'wide-log-queries': { run: calls.wideLogQueries, limits: PIECES },
  'all-logs': { run: calls.allLogs, limits: PIECES },
  'just-inline': { run: calls.justInline, limits: { p99: 150, turn: 100 } },
  'full-pool': { run: calls.fullPool, limits: { p99: 150, turn: 100 } },
  'waits-for-far-blocks': { run: crowds.waitsForFarBlocks },
  // Each is read, checked and indexed by a thousand addresses and topics; p99 was 320 ms, and a turn 71 ms.
  'largest-filters': { run: crowds.largestFilters, limits: { p99: 250, turn: 100 } },
  'subscription-bursts': { run: crowds.subscriptionBursts },
  'polls-of-everything': { run: filters.pollsOfEverything },
  // After it: these take the room for others of the same client, for five minutes.
  'filters-never-polled': { run: filters.filtersNeverPolled },
  'many-connections': { run: crowds.manyConnections },
  'slow-loris': { run: crowds.slowLoris },
};
