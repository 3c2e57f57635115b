import type { Target } from '../target.ts';
import * as crowds from './crowds.ts';
import { forgedCursors } from './cursors.ts';
import * as filters from './filters.ts';
import * as calls from './long-calls.ts';
import { provenSlots, provenStates } from './proofs.ts';
import * as queries from './queries.ts';
import { waitsForReceipts } from './sending.ts';
import * as simulations from './simulations.ts';
import * as slow from './slow-readers.ts';
import * as traces from './traces.ts';

export interface ClientAttack {
  readonly run: (target: Target, place: calls.ListPlace) => Promise<void>;
  /** What it needs to show itself, where that is not the usual. */
  readonly forMs?: number;
  /** Other limits than all have, in milliseconds, with the reason beside it. */
  readonly limits?: { readonly p99?: number; readonly turn?: number };
  /** Against the dedicated listener. */
  readonly isDedicated?: boolean;
  /** While blocks are full of logs. */
  readonly emitsLogs?: boolean;
  /** What each answer looks like: its status and, of an error, its code and words. */
  readonly answers?: RegExp;
  /** One that there has to be. */
  readonly mustAnswer?: string;
}

/**
 * Each request takes a piece of 10 to 40 ms of a serving thread, and one client sends many at once. None of them is too much; how
 * much one client gets of all is shared out by nobody yet.
 */
const PIECES = { p99: 150, turn: 100 };

/** Of long work: a result, a limit that it says, or that there is no room. */
const LONG =
  /^(afterwards )?(200 a result|200 -32000 \w+ exceeded the time limit of 5 s|503 -32005 the node is overloaded, try again later)$/;
/** Of calls for which a simulation has no gas left. */
const SPENT = /^200 -38013 err: intrinsic gas too low: have \d+, want 21000/;
const SERVED_AFTERWARDS = 'afterwards 200 a result';
const or = (...answers: readonly RegExp[]): RegExp =>
  new RegExp(answers.map(({ source }) => source).join('|'));

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
  'simulated-calls': { run: simulations.simulatedCalls, limits: PIECES, answers: or(LONG, SPENT) },
  'simulated-gaps': {
    run: simulations.simulatedGaps,
    ...{ limits: PIECES, answers: or(LONG, /^200 -38026 too many blocks$/) },
  },
  'simulated-loops': {
    run: simulations.simulatedLoops,
    ...{ limits: PIECES, answers: or(LONG, SPENT) },
  },
  'simulated-state': { run: simulations.simulatedState, limits: PIECES, answers: LONG },
  'abandoned-simulations': {
    run: simulations.abandonedSimulations,
    ...{ limits: PIECES, answers: LONG, mustAnswer: SERVED_AFTERWARDS, forMs: 8_000 },
  },
  'long-estimates': { run: queries.longEstimates, answers: LONG },
  'unstable-access-lists': {
    run: queries.unstableAccessLists,
    answers: or(
      LONG,
      /^200 -32000 (the access list does not become stable|failed to apply transaction: err: intrinsic gas too low: hav)/,
    ),
  },
  'long-fee-histories': { run: queries.longFeeHistories, answers: LONG },
  // Fifty at once, of 2.5 ms each although they are refused, and answers of megabytes to check: p99 was 180 to 370 ms. Only
  // turns of whole clients would bound it.
  'proven-slots': { run: provenSlots, limits: { p99: 500, turn: 100 }, answers: LONG },
  'traced-loops': {
    run: traces.tracedLoops,
    ...{
      isDedicated: true,
      answers: or(LONG, /^200 -32000 the trace is too large: limit it, or trace less$/),
    },
  },
  'traced-blocks': {
    run: traces.tracedBlocks,
    ...{
      isDedicated: true,
      answers: or(LONG, /^200 -32000 the trace is too large: limit it, or trace less$/),
    },
  },
  'abandoned-traces': {
    run: traces.abandonedTraces,
    ...{ isDedicated: true, answers: LONG, mustAnswer: SERVED_AFTERWARDS, forMs: 8_000 },
  },
  'forged-cursors': {
    run: forgedCursors,
    ...{
      limits: PIECES,
      answers: /^200 (a result|-32602 invalid argument 0: cursor: .*|-32001 block not found: 0x\w+)$/,
    },
  },
  // All its 2,600 connections end at once: a turn of 45 to 75 ms.
  'waits-for-receipts': {
    run: waitsForReceipts,
    ...{ forMs: 8_000, limits: { turn: 100 } },
    mustAnswer: 'afterwards 200 5 the transaction was sent, but is not ready: its nonce is 100',
  },
  'polls-of-everything': { run: filters.pollsOfEverything },
  'all-logs-of-filters': { run: filters.allLogsOfFilters, limits: PIECES },
  'polls-of-many-logs': {
    run: filters.pollsOfManyLogs,
    forMs: 6_000,
    emitsLogs: true,
    limits: PIECES,
    answers: or(LONG, /^200 -32000 filter not found: its history is not held/),
  },
  // After it: these take the room for others of the same client, for five minutes.
  'filters-never-polled': { run: filters.filtersNeverPolled },
  'filters-left': { run: filters.filtersLeft, limits: PIECES, mustAnswer: SERVED_AFTERWARDS },
  'many-connections': { run: crowds.manyConnections },
  'slow-loris': { run: crowds.slowLoris },
};

/** Those of a node that holds all of the state. */
export const COMPLETE_ATTACKS: Readonly<Record<string, ClientAttack>> = {
  'proven-states': { run: provenStates, limits: PIECES, answers: LONG },
};
