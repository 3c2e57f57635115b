import { count, sourceUrls } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';

const SERVE = ['serve'] as const satisfies readonly Command[];
const SERVE_AND_DOCTOR = ['serve', 'doctor'] as const satisfies readonly Command[];
const MILLISECONDS = { min: 1, max: 3_600_000 };

/** The rows of the table that are about pre-confirmed state. */
export const PRECONFIRMED_OPTIONS = {
  flashblocks: {
    group: 'Pre-confirmations',
    commands: SERVE_AND_DOCTOR,
    value: 'URL',
    parse: sourceUrls,
    isSecret: true,
    repeatable: true,
    brief: 'Pre-confirmed blocks: a ws stream, or http to poll',
    doc: 'Where flashblocks of the chain that is followed come from: a WebSocket that sends them or has newFlashblocks, or an http URL whose pending block is polled. `raw+` or `rpc+` before ws says which. Several are used together.',
  },
  preconfirmedBlocks: {
    group: 'Pre-confirmations',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 64 }),
    default: '5',
    doc: 'Pre-confirmed blocks on top of the head, at most.',
  },
  preconfirmedTimeoutMs: {
    group: 'Pre-confirmations',
    commands: SERVE,
    value: 'MS',
    parse: count(MILLISECONDS),
    default: '1000',
    doc: 'Time to execute one flashblock, with the state it has to be given. Later than that, its block is dropped.',
  },
  flashblockGapMs: {
    group: 'Pre-confirmations',
    commands: SERVE,
    value: 'MS',
    parse: count(MILLISECONDS),
    default: '200',
    doc: 'How long a lost flashblock is waited for, before its block is dropped.',
  },
  flashblockEarlyMs: {
    group: 'Pre-confirmations',
    commands: SERVE,
    value: 'MS',
    parse: count(MILLISECONDS),
    default: '2000',
    doc: 'How long a block that is announced before its parent is known waits for it.',
  },
  flashblockSilenceMs: {
    group: 'Pre-confirmations',
    commands: SERVE_AND_DOCTOR,
    value: 'MS',
    parse: count(MILLISECONDS),
    default: '1000',
    doc: 'Time without a flashblock after which pre-confirmed state is dropped, and a stream is connected to again.',
  },
  flashblockPollMs: {
    group: 'Pre-confirmations',
    commands: SERVE_AND_DOCTOR,
    value: 'MS',
    parse: count({ min: 100, max: 60_000 }),
    default: '200',
    doc: 'How often the pending block of an http URL is asked for.',
  },
  flashblockQueue: {
    group: 'Pre-confirmations',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 100_000 }),
    default: '256',
    doc: 'Flashblocks that may wait to be executed. With more, pre-confirmed state is dropped.',
  },
  readyPreconfirmedMs: {
    group: 'Pre-confirmations',
    commands: SERVE,
    value: 'MS',
    parse: count(MILLISECONDS),
    default: '5000',
    doc: 'Time without an executed flashblock after which /readyz says so, where there are streams.',
  },
} as const satisfies Record<string, OptionSpec>;
