import { PROFILE_DEFAULTS } from '../../src/config/profiles.ts';
import { flagOf, OPTION_ROWS } from '../../src/config/rows.ts';
import type { OptionSpec } from '../../src/config/spec.ts';

/** Groups of options whose every option bounds something that clients can meet. */
const GROUPS = new Set<OptionSpec['group']>([
  'Rates',
  'Requests',
  'Sending',
  'WebSocket',
  'Filters',
  'eth_getLogs',
  'eth_call',
  'eth_simulateV1',
  'State',
]);

/** Options of those groups that choose something, and bound nothing. */
const CHOICES = new Set([
  'compat',
  'httpFront',
  'sendTo',
  'forward',
  'poolNonce',
  'limitLoopback',
  'trustedProxies',
  'compressAbove',
]);

/** Options of other groups that do bound what clients can meet. */
const OTHERS = new Set([
  'clientBytes',
  'threadHeapBytes',
  'historicalStateBytes',
  'maxPins',
  'maxBlockGas',
  'blockTimeLimitMs',
  'stateTimeoutMs',
]);

/** Whether an option is a limit that clients can meet. */
export function isLimit(name: string, { group }: OptionSpec): boolean {
  return OTHERS.has(name) || (GROUPS.has(group) && !CHOICES.has(name));
}

/** What happens beyond limits whose option says nothing of it. */
const BEYOND: Readonly<Record<string, string>> = {
  maxConnections: 'the connection is closed; a client over its share: HTTP 429',
  maxInFlight: 'HTTP 503, `-32005`',
  clientBytes: 'the client that holds most is cut off',
  sendTimeoutMs: 'cut off; WebSocket 4008',
  requestTimeoutMs: 'HTTP 408 while it arrives; `-32000` while it is answered',
  keepAliveMs: 'the connection is closed',
  shutdownTimeoutMs: 'what still runs is cut off',
  drainDelayMs: 'ports close',
  atLeastWaitMs: '`-32001`',
  atLeastWaiting: 'HTTP 503, `-32005`',
  maxBodyBytes: 'HTTP 413, `-32600`',
  maxBodyElements: '`-32600`',
  maxResponseBytes: '`-32003`; logs: `-32602` with a smaller range',
  feeHistoryBlocks: 'fewer blocks',
  syncTimeoutMs: 'error 4',
  syncTimeoutMaxMs: 'the default is taken',
  syncWaiting: 'HTTP 503, `-32005`, nothing is sent',
  wsSubscriptions: '`-32000`',
  wsTotalSubscriptions: '`-32005`',
  wsQueueBytes: 'closed with 4008',
  wsRequests: 'the next ones are read later',
  wsPingMs: '–',
  wsPongMs: 'cut off (1006)',
  wsCloseMs: 'cut off',
  resumeBlocks: '–',
  resumeReaders: 'the next ones wait',
  resumeWaitMs: 'closed with 4009',
  stateChangesWaiting: 'closed with 4009',
  filters: '`-32005`',
  filtersPerClient: '`-32000`',
  filterTimeoutMs: 'the filter ends',
  filterBytes: '`-32000`, `filter not found`',
  logsAddresses: '`-32602`',
  logsTopics: '`-32602`',
  logsTimeLimitMs: '`-32000`',
  callGasCap: 'clamped',
  callTimeLimitMs: '`-32000`',
  callInlineSteps: 'the call goes on in the pool',
  callPoolThreads: '–',
  callPoolQueue: 'HTTP 503, `-32005`',
  simulateBlocks: '`-38026`',
  simulateCalls: '`-38026`',
  simulateGas: 'a call gets what is left',
  simulateTimeLimitMs: '`-32000`',
  trieKeys: 'an upstream is asked for proofs',
  requestStateBytes: '`-32000`',
  stateReadsInFlight: 'HTTP 503, `-32005`',
  rateBurst: 'HTTP 429',
  threadHeapBytes: 'the thread ends, and the node with it',
  historicalStateBytes: 'HTTP 503, `-32005`',
  maxPins: 'HTTP 503, `-32005`',
  maxBlockGas: 'the block is not followed',
  blockTimeLimitMs: 'the block is tried again',
  stateTimeoutMs: '`-32002`',
};

/** The table of docs/limits.md. */
export function renderLimits(): string {
  const lines = ['| option | default | bounds | beyond it |', '|---|---|---|---|'];
  for (const [name, spec] of OPTION_ROWS) {
    if (!isLimit(name, spec)) continue;
    const beyond = BEYOND[name];
    if (beyond === undefined)
      throw new Error(`say in scripts/reference/limits.ts what happens beyond ${flagOf(name)}`);
    lines.push(`| \`${flagOf(name)}\` | \`${spec.default ?? '–'}\` | ${spec.doc} | ${beyond} |`);
  }
  return lines.join('\n');
}

const SETTINGS: Readonly<Record<string, readonly [bounds: string, beyond: string]>> = {
  rate: ['units a second of one address or key: a nonce is one, a call four', 'HTTP 429, `429`'],
  batchEntries: ['entries of one batch', '`-32600`'],
  logsRange: ['`toBlock` − `fromBlock` of a log query', '`-32602`, with the limit in the message'],
  logsResults: ['logs in one answer', '`-32602`, with a range that succeeds'],
  stateReads: ['accounts and slots that one request may have read from upstreams', '`-32000`'],
};

/** The table of limits that differ by endpoint. */
export function renderProfileLimits(): string {
  const { none, keys }: Readonly<Record<'none' | 'keys', Readonly<Record<string, string>>>> =
    PROFILE_DEFAULTS;
  const lines = ['| setting | public | dedicated | bounds | beyond it |', '|---|---|---|---|---|'];
  for (const [name, [bounds, beyond]] of Object.entries(SETTINGS)) {
    if (none[name] === undefined || keys[name] === undefined)
      throw new Error(`profiles have no ${name} any more`);
    const dedicated = keys[name] === '0' ? 'none' : `\`${keys[name]}\``;
    lines.push(`| \`${name}\` | \`${none[name]}\` | ${dedicated} | ${bounds} | ${beyond} |`);
  }
  return lines.join('\n');
}
