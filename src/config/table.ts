import { BACKFILL_OPTIONS } from './options/backfill.ts';
import { DEV_OPTIONS } from './options/dev.ts';
import { FILTER_OPTIONS } from './options/filters.ts';
import { FLEET_OPTIONS } from './options/fleet.ts';
import { FOLLOWING_OPTIONS } from './options/following.ts';
import { KEY_OPTIONS } from './options/keys.ts';
import { OBSERVING_OPTIONS } from './options/observing.ts';
import { OPERATING_OPTIONS } from './options/operating.ts';
import { PRECONFIRMED_OPTIONS } from './options/preconfirmed.ts';
import { RATE_OPTIONS } from './options/rates.ts';
import { REQUEST_OPTIONS } from './options/request.ts';
import { SENDING_OPTIONS } from './options/sending.ts';
import { SIMULATE_OPTIONS } from './options/simulate.ts';
import { STATE_OPTIONS } from './options/state.ts';
import { WEBSOCKET_OPTIONS } from './options/websocket.ts';
import { bytes, count, endpoint, hostNames, oneOf, path, threads, toggle, undoWindow } from './parsers.ts';
import { profileChoices } from './profiles.ts';
import type { Command, OptionSpec } from './spec.ts';

const ON_STORES = ['import', 'serve', 'backfill', 'verify', 'snapshot'] as const satisfies readonly Command[];
const ON_FOLDERS = ['import', 'backfill', 'verify'] as const satisfies readonly Command[];
const ALL = [...ON_STORES, 'doctor'] as const satisfies readonly Command[];
const ALL_AND_DEV = [...ALL, 'dev'] as const satisfies readonly Command[];
const LISTENING = ['serve', 'doctor', 'dev'] as const satisfies readonly Command[];
const ALL_AND_PLAN = [...ALL, 'plan'] as const satisfies readonly Command[];
const SERVE_AND_DOCTOR = ['serve', 'doctor'] as const satisfies readonly Command[];
const SERVE = ['serve'] as const satisfies readonly Command[];
const WRITING = ['import', 'serve', 'backfill', 'snapshot'] as const satisfies readonly Command[];
const PRINTING = [
  'import',
  'backfill',
  'verify',
  'snapshot',
  'doctor',
  'plan',
  'chains',
  'keys',
  'config',
] as const satisfies readonly Command[];
const IMPORT = ['import'] as const satisfies readonly Command[];
const MILLISECONDS = { min: 1, max: 3_600_000 };

/** Every option of every command, declared once. Precedence: flag, environment variable, config file, default. */
export const OPTIONS = {
  config: {
    group: 'General',
    commands: ALL_AND_DEV,
    value: 'FILE',
    parse: path,
    brief: 'YAML or JSON file with options',
    doc: 'YAML or JSON file with options. Cannot itself be set in the file.',
  },
  logLevel: {
    group: 'General',
    commands: ALL,
    value: 'LEVEL',
    parse: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    default: 'info',
    isReloaded: true,
    brief: 'trace, debug, info, warn, error, fatal, silent',
    doc: 'Least severe level that is logged: trace, debug, info, warn, error, fatal or silent.',
  },
  json: {
    group: 'General',
    commands: PRINTING,
    value: 'SWITCH',
    parse: toggle,
    default: 'off',
    isSwitch: true,
    brief: 'One JSON document on stdout in place of text',
    doc: 'Print one JSON document on stdout in place of text. See docs/cli.md for its shapes.',
  },
  ...OBSERVING_OPTIONS,
  data: {
    group: 'Chain',
    commands: ALL,
    value: 'DIR',
    parse: path,
    required: ON_FOLDERS,
    brief: 'Folder of the embedded store',
    doc: 'Folder of the embedded store. `serve` and `snapshot` need it unless they have --store.',
  },
  genesis: {
    group: 'Chain',
    commands: IMPORT,
    value: 'FILE',
    parse: path,
    required: IMPORT,
    brief: 'Genesis file: chain config and first state',
    doc: 'Genesis file with the chain config and the first state.',
  },
  blocks: {
    group: 'Chain',
    commands: IMPORT,
    value: 'FILE',
    parse: path,
    required: IMPORT,
    brief: 'File of RLP blocks, from block 1 on',
    doc: 'RLP blocks to execute, one after another, from block 1.',
  },
  importBatch: {
    group: 'Chain',
    commands: IMPORT,
    value: 'N',
    parse: count({ min: 1, max: 10_000 }),
    default: '64',
    doc: 'Blocks committed together by an import. A crash loses at most this many.',
  },
  maxBlockGas: {
    group: 'Chain',
    commands: ALL,
    value: 'GAS',
    parse: count({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    default: '20_000_000_000',
    doc: 'Largest gas limit of a block that is executed. It bounds what a false block can cost; for one above it nobody is banned.',
  },
  blockTimeLimitMs: {
    group: 'Chain',
    commands: ALL,
    value: 'MS',
    parse: count(MILLISECONDS),
    default: '10000',
    doc: 'Time to execute a block, without the loading of its state, and 1 s more for each 100 million gas it used. What takes longer is given up and tried again.',
  },
  ...FOLLOWING_OPTIONS,
  ...PRECONFIRMED_OPTIONS,
  ...BACKFILL_OPTIONS,
  ...FLEET_OPTIONS,
  public: {
    group: 'Listeners',
    commands: LISTENING,
    value: 'HOST:PORT',
    parse: endpoint,
    default: '127.0.0.1:8545',
    brief: 'No key needed; `off` closes it',
    doc: 'Public listener: no key, eth_getBlockReceipts answers 403. `off` closes it.',
  },
  dedicated: {
    group: 'Listeners',
    commands: LISTENING,
    value: 'HOST:PORT',
    parse: endpoint,
    default: '127.0.0.1:8546',
    brief: 'All methods, for keys; `off` closes it',
    doc: 'Dedicated listener: every method and wider limits, for those with a key (--keys, --jwks). While there are none, it serves without one, on loopback alone. `off` closes it.',
  },
  admin: {
    group: 'Listeners',
    commands: LISTENING,
    value: 'HOST:PORT',
    parse: endpoint,
    default: '127.0.0.1:8547',
    brief: 'Dashboard, health, metrics; `off`',
    doc: 'Admin listener: health and metrics. `off` closes it.',
  },
  profile: {
    group: 'Listeners',
    commands: LISTENING,
    value: 'NAME.SETTING=VALUE',
    parse: profileChoices,
    repeatable: true,
    isNested: true,
    isReloaded: true,
    doc: 'What an endpoint serves, to whom, and how much: public.rate=500. A name other than public and dedicated is a further endpoint, with a listen of its own. See docs/endpoints.md.',
  },
  allowedHosts: {
    group: 'Listeners',
    commands: SERVE,
    value: 'NAME',
    parse: hostNames,
    repeatable: true,
    doc: 'Further names by which listeners on loopback may be asked, as behind a proxy. Pages from there may use the dedicated and admin listeners too.',
  },
  listenPortFile: {
    group: 'Listeners',
    commands: SERVE,
    value: 'FILE',
    parse: path,
    doc: 'Written as JSON with the bound addresses once every listener is up.',
  },
  threads: {
    group: 'Listeners',
    commands: SERVE_AND_DOCTOR,
    value: 'N',
    parse: threads,
    default: 'auto',
    brief: 'Serving threads',
    doc: 'Serving threads, all on one shared state. `auto` is one per core.',
  },
  readyWorkerMs: {
    group: 'Listeners',
    commands: SERVE,
    value: 'MS',
    parse: count({ min: 1_000, max: 3_600_000 }),
    default: '3000',
    doc: 'Time without a sign of life of a serving thread after which /readyz says so.',
  },
  ...KEY_OPTIONS,
  ...RATE_OPTIONS,
  ...REQUEST_OPTIONS,
  ...SENDING_OPTIONS,
  ...WEBSOCKET_OPTIONS,
  logsAddresses: {
    group: 'eth_getLogs',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 100_000 }),
    default: '1000',
    isReloaded: true,
    doc: 'Addresses in one filter.',
  },
  logsTopics: {
    group: 'eth_getLogs',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 100_000 }),
    default: '1000',
    isReloaded: true,
    doc: 'Alternatives at one topic position of a filter.',
  },
  logsTimeLimitMs: {
    group: 'eth_getLogs',
    commands: SERVE,
    value: 'MS',
    parse: count(MILLISECONDS),
    default: '10000',
    isReloaded: true,
    doc: 'Time of one log query.',
  },
  callGasCap: {
    group: 'eth_call',
    commands: SERVE,
    value: 'GAS',
    parse: count({ min: 21_000, max: 1_000_000_000_000 }),
    default: '50000000',
    isReloaded: true,
    doc: 'Gas of one call. More is clamped to it.',
  },
  callTimeLimitMs: {
    group: 'eth_call',
    commands: SERVE,
    value: 'MS',
    parse: count(MILLISECONDS),
    default: '5000',
    isReloaded: true,
    doc: 'Time of one call.',
  },
  callInlineSteps: {
    group: 'eth_call',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 100_000_000 }),
    default: '12000',
    doc: 'Steps (jumps, calls, gas spent, bytes returned) of a call on the serving thread. Past it, the call is run again on the pool.',
  },
  callPoolThreads: {
    group: 'eth_call',
    commands: SERVE,
    value: 'N',
    parse: threads,
    default: 'auto',
    doc: 'Threads of the pool for long calls, shared by all serving threads. `auto` is one per core.',
  },
  callPoolQueue: {
    group: 'eth_call',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 1_000_000 }),
    default: '256',
    doc: 'Long calls that may wait for the pool. More get HTTP 503.',
  },
  ...SIMULATE_OPTIONS,
  ...STATE_OPTIONS,
  ...FILTER_OPTIONS,
  hotStateEntries: {
    group: 'Memory and store',
    commands: ALL_AND_PLAN,
    value: 'N',
    parse: count({ min: 1_024, max: 1_000_000_000 }),
    default: '2000000',
    doc: 'Accounts and slots kept in memory, each, shared by all threads.',
  },
  threadHeapBytes: {
    group: 'Memory and store',
    commands: SERVE,
    value: 'SIZE',
    parse: bytes({ min: 2 ** 26, max: 2 ** 36 }),
    default: '512MiB',
    doc: 'JavaScript heap of one serving thread, at most. A thread that needs more ends, and the node with it.',
  },
  renderCacheBytes: {
    group: 'Memory and store',
    commands: ['serve', 'doctor', 'plan'],
    value: 'SIZE',
    parse: bytes({ min: 2 ** 16, max: 2 ** 36 }),
    default: '64MiB',
    doc: 'Blocks, transactions, logs and receipts kept as ready JSON, per serving thread.',
  },
  codeCacheBytes: {
    group: 'Memory and store',
    commands: ALL_AND_PLAN,
    value: 'SIZE',
    parse: bytes({ min: 2 ** 16, max: 2 ** 32 - 1 }),
    default: '256MiB',
    doc: 'Contract code kept in memory, shared by all threads.',
  },
  storeMapSize: {
    group: 'Memory and store',
    commands: ALL,
    value: 'SIZE',
    parse: bytes({ min: 2 ** 24, max: 2 ** 46 }),
    default: '1TiB',
    doc: 'Address space reserved for the embedded store, so also its largest size. Not memory in use.',
  },
  diskReserve: {
    group: 'Memory and store',
    commands: WRITING,
    value: 'SIZE',
    parse: bytes({ min: 0, max: 2 ** 40 }),
    default: '128MiB',
    doc: 'Room on the disk below which nothing more is written. What is held is served on, and /readyz says `store`.',
  },
  undoWindow: {
    group: 'Memory and store',
    commands: ALL,
    value: 'SPAN',
    parse: undoWindow,
    default: 'finalized',
    doc: 'How far below the head blocks can be taken off again: blocks (256b), a time (10m), the larger of both (256b,10m), or `finalized`: down to what is final, at least 256 blocks and at most 30 minutes. In the store.',
  },
  hotWindow: {
    group: 'Memory and store',
    commands: ALL,
    value: 'BLOCKS',
    parse: count({ min: 1, max: 100_000 }),
    default: '256',
    doc: 'Newest blocks whose changes are kept in memory. Older ones are read from the store.',
  },
  ...OPERATING_OPTIONS,
  ...DEV_OPTIONS,
} as const satisfies Record<string, OptionSpec>;

export type OptionName = keyof typeof OPTIONS;

type ValueOf<Spec extends OptionSpec, C extends Command> = Spec extends { readonly default: string }
  ? ReturnType<Spec['parse']>
  : Spec extends { readonly required: readonly (infer By)[] }
    ? C extends By
      ? ReturnType<Spec['parse']>
      : ReturnType<Spec['parse']> | undefined
    : ReturnType<Spec['parse']> | undefined;

/** Every option with its parsed type. Take what a module needs with `Pick`. */
export type Options = { readonly [Name in OptionName]: ValueOf<(typeof OPTIONS)[Name], Command> };

/** The options of one command; `ingest` takes those of `serve`. */
export type CommandOptions<C extends Command> = C extends 'ingest' ? RowsOf<'serve'> : RowsOf<C>;

type RowsOf<C extends Command> = {
  readonly [Name in OptionName as C extends (typeof OPTIONS)[Name]['commands'][number]
    ? Name
    : never]: ValueOf<(typeof OPTIONS)[Name], C>;
};
