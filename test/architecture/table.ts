/** A room: a folder of `src`, or one file of a folder that composes its rooms. */
export interface Room {
  readonly holds: string;
  /** The rooms it imports: each must stand before it in the table, and be imported indeed. */
  readonly imports: readonly string[];
}

/**
 * The layout of `src`, from the ground up. A file belongs to the row with the longest path that begins its own. Imports point to
 * rows before; this list says to which, and what ARCHITECTURE.md shows is made of it.
 */
export const ROOMS: Readonly<Record<string, Room>> = {
  primitives: { holds: 'hex, quantities, block selectors, budgets, errors', imports: [] },
  chain: { holds: 'logs, receipts, diffs, outcomes and their codecs', imports: ['primitives'] },
  telemetry: { holds: 'logger, metrics registry, heartbeats, redaction', imports: [] },
  rules: {
    holds:
      'the table of chains: forks, block times, pre-confirmations, sources; the rules that upstreams tell',
    imports: [],
  },
  config: {
    holds: 'the one table of options; loading, help and docs from it',
    imports: ['primitives', 'rules'],
  },
  source: {
    holds: 'what upstreams can be asked: interface, errors, clock',
    imports: ['chain', 'primitives'],
  },
  'source/transport': {
    holds: 'JSON-RPC over HTTP and WebSocket, batches',
    imports: ['primitives', 'source', 'telemetry'],
  },
  'source/pool': {
    holds: 'upstreams and their health: bans, hedged requests, retries, chain id',
    imports: ['config', 'primitives', 'source', 'source/transport'],
  },
  'source/reads': {
    holds: 'typed reads of blocks, receipts and state',
    imports: ['chain', 'primitives', 'source', 'source/pool', 'source/transport'],
  },
  'source/heads': {
    holds: 'new heads, and which upstream leads',
    imports: ['chain', 'primitives', 'source', 'source/pool', 'source/reads'],
  },
  'source/flashblocks': {
    holds: 'several flashblock streams as one sequence',
    imports: ['chain', 'primitives', 'source', 'source/transport'],
  },
  'source/rpc-source.ts': {
    holds: 'upstream JSON-RPC as a whole',
    imports: ['chain', 'primitives', 'source', 'source/heads', 'source/pool', 'source/reads'],
  },
  executor: {
    holds: 'the EVM as TypeScript sees it; the only importer of the addon',
    imports: ['chain', 'config', 'primitives', 'rules', 'telemetry'],
  },
  store: { holds: 'the store interface, state loader', imports: ['chain', 'primitives'] },
  'store/memory': { holds: 'a store in memory, for tests', imports: ['chain', 'primitives', 'store'] },
  'store/lmdb': {
    holds: 'the embedded store: reader, writer, log index',
    imports: ['chain', 'primitives', 'store', 'telemetry'],
  },
  'store/cql': {
    holds:
      'the store of a fleet: rows in CQL, the root row that shows them, the tail in memory, the index behind',
    imports: ['chain', 'primitives', 'store', 'telemetry'],
  },
  feed: {
    holds: 'what the one writer tells the workers, in order; workers that wait for each other',
    imports: ['chain', 'primitives'],
  },
  'feed/wire': {
    holds: 'the feed as bytes: items, messages in parts, what is missing between them',
    imports: ['chain', 'feed', 'primitives'],
  },
  'feed/nats': {
    holds: 'the feed over NATS: publisher, subscriber, the connection and the stream of a chain',
    imports: ['feed', 'feed/wire', 'primitives'],
  },
  dev: {
    holds: 'the chain of `dev`: a client as a child process, its sequencer, its flashblocks',
    imports: ['config', 'primitives'],
  },
  'follow/blocks': {
    holds: 'blocks that their hash proves',
    imports: ['chain', 'executor', 'feed', 'primitives', 'source', 'store'],
  },
  'follow/rules': {
    holds: 'the fork rules of a chain, their proof, and whether they are too old',
    imports: ['chain', 'rules', 'source', 'store', 'telemetry'],
  },
  'follow/state': {
    holds: 'state that the copy does not know: read, proven, pinned',
    imports: ['chain', 'executor', 'follow/blocks', 'primitives', 'source', 'source/reads', 'store'],
  },
  'follow/health': {
    holds: 'readiness, and whether the store can be written',
    imports: ['chain', 'config', 'primitives', 'source', 'telemetry'],
  },
  'follow/passing': {
    holds: 'transactions sent on, and requests that only others can answer',
    imports: ['chain', 'config', 'primitives', 'source', 'source/pool', 'source/rpc-source.ts', 'telemetry'],
  },
  preconfirm: {
    holds: 'flashblocks executed and published, or applied where another process executed them',
    imports: [
      'chain',
      'config',
      'executor',
      'feed',
      'feed/wire',
      'follow/state',
      'primitives',
      'rules',
      'source/flashblocks',
      'telemetry',
    ],
  },
  follow: {
    holds: 'a copy kept at the head of its chain: loop, moves, anchor, finality',
    imports: [
      'chain',
      'config',
      'executor',
      'feed',
      'follow/blocks',
      'follow/health',
      'follow/passing',
      'follow/rules',
      'follow/state',
      'preconfirm',
      'primitives',
      'rules',
      'source',
      'source/heads',
      'source/pool',
      'source/rpc-source.ts',
      'store',
      'telemetry',
    ],
  },
  replica: {
    holds: 'a copy of a chain that another process writes: hot state and threads taken to where the store is',
    imports: [
      'chain',
      'config',
      'executor',
      'feed',
      'feed/nats',
      'follow',
      'follow/health',
      'follow/passing',
      'follow/rules',
      'follow/state',
      'preconfirm',
      'rules',
      'source',
      'source/rpc-source.ts',
      'store',
      'store/cql',
      'telemetry',
    ],
  },
  'maintenance/import': {
    holds: 'a chain from files',
    imports: [
      'chain',
      'config',
      'executor',
      'follow/rules',
      'follow/state',
      'primitives',
      'store',
      'store/lmdb',
      'telemetry',
    ],
  },
  'maintenance/backfill': {
    holds: 'history below the anchor',
    imports: [
      'chain',
      'config',
      'executor',
      'follow/blocks',
      'follow/rules',
      'maintenance/import',
      'source',
      'source/pool',
      'source/rpc-source.ts',
      'store',
      'store/lmdb',
      'telemetry',
    ],
  },
  'maintenance/verify': {
    holds: 'a store held against its blocks',
    imports: [
      'chain',
      'config',
      'executor',
      'follow/rules',
      'maintenance/import',
      'primitives',
      'store',
      'store/lmdb',
    ],
  },
  'maintenance/snapshot': {
    holds: 'a store as a folder of sealed segments, and back',
    imports: [
      'chain',
      'config',
      'executor',
      'follow/blocks',
      'follow/rules',
      'maintenance/verify',
      'primitives',
      'store',
      'store/cql',
      'store/lmdb',
    ],
  },
  'maintenance/plan': { holds: 'what a fleet takes, from measured figures', imports: [] },
  'maintenance/doctor': {
    holds: 'what upstreams, streams, store and host can do',
    imports: [
      'chain',
      'config',
      'executor',
      'follow/rules',
      'primitives',
      'rules',
      'source',
      'source/flashblocks',
      'source/pool',
      'source/reads',
      'source/transport',
      'store',
      'store/lmdb',
      'telemetry',
    ],
  },
  head: {
    holds: 'snapshots by selector, pre-confirmed blocks on top of the head',
    imports: ['chain', 'executor', 'feed', 'primitives', 'store'],
  },
  methods: {
    holds: 'JSON-RPC methods, one a file, in rooms by kind',
    imports: ['chain', 'executor', 'head', 'primitives', 'rules', 'store'],
  },
  subscriptions: {
    holds: 'what subscribers are told, event by event',
    imports: ['chain', 'config', 'feed', 'head', 'methods', 'primitives', 'store'],
  },
  'rpc/auth': {
    holds: 'who may ask: API keys, tokens, what each grants',
    imports: ['config', 'primitives'],
  },
  'rpc/limits': {
    holds: 'what clients may hold and use, and from where; how hard a thread is pressed; heaps given back',
    imports: ['primitives', 'rpc/auth', 'telemetry'],
  },
  'rpc/dispatch': {
    holds: 'requests and batches: framing, calls, the one mapping from errors to codes',
    imports: ['executor', 'head', 'methods', 'primitives', 'rpc/auth', 'rpc/limits', 'telemetry'],
  },
  'rpc/ws': {
    holds: 'WebSocket connections',
    imports: ['config', 'primitives', 'rpc/auth', 'rpc/dispatch', 'rpc/limits', 'subscriptions'],
  },
  'rpc/http': {
    holds: 'HTTP: plain requests straight off the socket, all else by node:http',
    imports: ['primitives', 'rpc/auth', 'rpc/dispatch', 'rpc/limits', 'rpc/ws', 'telemetry'],
  },
  'rpc/admin': {
    holds: 'the listener for operators: health, metrics, the dashboard and what it is told',
    imports: ['chain', 'config', 'primitives', 'rpc/limits'],
  },
  'serving/store': {
    holds: 'the store of a process as its threads read it: embedded, or a replica in CQL',
    imports: ['config', 'feed', 'store', 'store/cql', 'store/lmdb'],
  },
  serving: {
    holds: 'worker threads that serve: the worker, its handle on the main thread, messages, remote state',
    imports: [
      'chain',
      'config',
      'executor',
      'feed',
      'head',
      'methods',
      'primitives',
      'rpc/auth',
      'rpc/dispatch',
      'rpc/http',
      'rpc/limits',
      'rpc/ws',
      'rules',
      'serving/store',
      'store',
      'subscriptions',
      'telemetry',
    ],
  },
  node: {
    holds: 'composition: start, stop; what the dashboard shows',
    imports: [
      'chain',
      'config',
      'executor',
      'feed',
      'follow',
      'follow/health',
      'primitives',
      'rpc/admin',
      'rpc/auth',
      'rpc/limits',
      'replica',
      'rules',
      'serving',
      'source',
      'store',
      'store/cql',
      'store/lmdb',
      'telemetry',
    ],
  },
  cli: {
    holds: 'commands, progress, what to do about failures, the banner',
    imports: [
      'config',
      'dev',
      'maintenance/backfill',
      'maintenance/doctor',
      'maintenance/import',
      'maintenance/plan',
      'maintenance/snapshot',
      'maintenance/verify',
      'node',
      'primitives',
      'rpc/auth',
      'rules',
      'source/pool',
      'source/transport',
      'telemetry',
    ],
  },
};

/** Where the modules of the native core are. */
export const CRATE = 'native/crates/evm/src/';

/** The modules of the native core, from the ground up, and those that each uses. */
export const MODULES: Readonly<Record<string, readonly string[]>> = {
  base: [],
  rules: ['base'],
  model: ['base', 'rules'],
  state: ['base', 'rules', 'model'],
  evm: ['base', 'rules', 'model', 'state'],
  ahead: ['base', 'rules', 'model', 'state', 'evm'],
  queries: ['base', 'rules', 'model', 'state', 'evm'],
  json: ['base', 'rules', 'model'],
  simulate: ['base', 'rules', 'model', 'state', 'evm', 'json'],
  chain: ['base', 'rules', 'model', 'state', 'evm', 'ahead'],
};

/** The longest file that needs no second thought about its shape. */
export const MAX_LINES = 400;

/** The most source files of one folder, its tests and rooms not counted. */
export const MAX_FILES = 15;

/** Test suites, and the other suites whose parts they use; all may use `test/support`, which uses none. */
export const SUITES: Readonly<Record<string, readonly string[]>> = {
  architecture: [],
  attacks: [],
  clients: ['e2e'],
  conformance: [],
  crash: [],
  deploy: [],
  dashboard: [],
  differential: [],
  docs: [],
  e2e: [],
  edge: [],
  fleet: ['preconfirmed', 'replica', 'subscriptions'],
  'first-run': [],
  following: [],
  front: [],
  fuzz: [],
  methods: ['fuzz'],
  replica: ['differential'],
  preconfirmed: ['differential', 'replica'],
  scale: [],
  scenarios: [],
  source: [],
  subscriptions: ['preconfirmed'],
  'two-nodes': ['preconfirmed', 'replica', 'subscriptions'],
  soak: ['preconfirmed', 'subscriptions'],
};
