import { setTimeout as delay } from 'node:timers/promises';
import type { NativeExecutor } from '../../executor/native-executor.ts';
import { parseUint64 } from '../../primitives/parse.ts';
import type { UpstreamHead } from '../../source/interface.ts';
import type { Upstream } from '../../source/pool/upstream.ts';
import { readHead, shaped } from '../../source/reads/shape.ts';
import { checkDiffs } from './diffs.ts';
import { checkForks } from './forks.ts';
import { checkReads } from './reads.ts';
import { failedWith, isTheirs, Section, wordsOf } from './report.ts';

export interface UpstreamSettings {
  readonly upstreamBatchCalls: number;
  readonly upstreamPollMs: number;
  readonly verifyState: boolean;
  readonly unknownFork: 'stop' | 'follow-by-diffs';
}

export interface UpstreamContext {
  readonly settings: UpstreamSettings;
  /** The rules of a chain: undefined when they are not known here. */
  readonly rulesOf: (chainId: bigint) => string | undefined;
  readonly executorOf: (chainId: bigint) => NativeExecutor | undefined;
  /** Seconds since 1970, by the clock of this machine. */
  readonly now: () => number;
  readonly signal: AbortSignal;
}

export interface HeadFacts extends UpstreamHead {
  readonly timestamp: number;
}

/** What is known of an upstream once it was examined. */
export interface UpstreamFacts {
  readonly upstream: Upstream;
  readonly section: Section;
  readonly chainId: bigint | undefined;
  readonly head: HeadFacts | undefined;
}

const LATENCY_TRIES = 5;
const SLOW_MS = 500;
const OLD_HEAD_SECONDS = 60;
/** Blocks are stamped a little ahead by some chains. */
const AHEAD_SECONDS = 15;
const SUBSCRIBE_MS = 5_000;

/** Asks one upstream all that following its chain would ask of it. */
export async function examineUpstream(upstream: Upstream, context: UpstreamContext): Promise<UpstreamFacts> {
  const section = new Section(`upstream ${upstream.name}`);
  const { signal } = context;
  const chainId = await checkReachable(upstream, section, signal);
  if (chainId === undefined) return { upstream, section, chainId, head: undefined };
  const executor = context.executorOf(chainId);
  if (executor === undefined) {
    section.fail(
      'chain id',
      `${chainId}: its rules are not known here`,
      'name its genesis file with --chain FILE',
    );
  } else section.ok('chain id', String(chainId));
  const head = await checkHead(upstream, section, context);
  if (head !== undefined)
    await checkReads({
      ...{ upstream, section, executor, head, signal },
      verifyState: context.settings.verifyState,
    });
  const rules = context.rulesOf(chainId);
  if (head !== undefined && rules !== undefined) {
    await checkForks({ upstream, section, rules, head, signal });
    const { unknownFork } = context.settings;
    await checkDiffs({ upstream, section, rules, head, unknownFork, signal });
  }
  await checkTags(upstream, section, signal);
  await checkBatches(upstream, section, context);
  await checkNews(upstream, section, context);
  return { upstream, section, chainId, head };
}

async function checkReachable(
  upstream: Upstream,
  section: Section,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  return section.attempt('reachable', async () => {
    const times: number[] = [];
    let id: unknown;
    for (let left = LATENCY_TRIES; left > 0; left--) {
      const started = performance.now();
      id = await upstream.request('eth_chainId', [], signal);
      times.push(performance.now() - started);
    }
    const chainId = shaped(upstream, () => parseUint64(id, 'chain id'));
    const median = times.toSorted((a, b) => a - b)[LATENCY_TRIES >> 1] ?? 0;
    const detail = `${median.toFixed(median < 10 ? 1 : 0)} ms an answer`;
    if (median < SLOW_MS) section.ok('reachable', detail);
    else section.warn('reachable', detail, 'use a server that is nearer: each block needs several answers');
    return chainId;
  });
}

async function checkHead(
  upstream: Upstream,
  section: Section,
  { now, signal }: UpstreamContext,
): Promise<HeadFacts | undefined> {
  const head = await section.attempt('head', async () => {
    const block = await upstream.request('eth_getBlockByNumber', ['latest', false], signal);
    return shaped(upstream, () => ({
      ...readHead(block),
      timestamp: Number(parseUint64((block as { timestamp?: unknown }).timestamp, 'timestamp')),
    }));
  });
  if (head === undefined) return undefined;
  const age = Math.round(now() - head.timestamp);
  const where = `block ${head.number}`;
  if (age < -AHEAD_SECONDS) {
    section.fail(
      'head and clock',
      `${where} is of ${-age} s in the future`,
      'set the clock of this machine (NTP); only development chains run ahead of it',
    );
  } else if (age > OLD_HEAD_SECONDS) {
    section.warn(
      'head and clock',
      `${where} is ${age} s old`,
      'the chain is idle, the server is behind (eth_syncing), or the clock here is fast',
    );
  } else section.ok('head and clock', `${where}, ${age} s old`);
  return head;
}

async function checkTags(upstream: Upstream, section: Section, signal: AbortSignal): Promise<void> {
  await section.attempt(
    'safe and finalized',
    async () => {
      const [safe, finalized] = await Promise.all(
        ['safe', 'finalized'].map((tag) =>
          upstream
            .request('eth_getBlockByNumber', [tag, false], signal)
            .then((block) => (block === null ? undefined : shaped(upstream, () => readHead(block).number)))
            .catch((error: unknown) => {
              if (failedWith(error, 'unknownBlock', 'refused')) return undefined;
              throw error;
            }),
        ),
      );
      if (safe !== undefined && finalized !== undefined) {
        section.ok('safe and finalized', `blocks ${safe} and ${finalized}`);
      } else {
        section.warn(
          'safe and finalized',
          'the server names none',
          'these tags stay at the first block held; a server with a consensus client knows them',
        );
      }
    },
    { level: 'warn' },
  );
}

async function checkBatches(
  upstream: Upstream,
  section: Section,
  { settings, signal }: UpstreamContext,
): Promise<void> {
  const asked = settings.upstreamBatchCalls;
  await section.attempt(
    'batches',
    async () => {
      await Promise.all(Array.from({ length: asked }, () => upstream.request('eth_chainId', [], signal)));
      const taken = upstream.batchCalls;
      if (taken >= asked) section.ok('batches', `${asked} calls in one request`);
      else if (taken > 1) section.ok('batches', `at most ${taken} calls in one request`);
      else {
        section.warn('batches', 'refused', 'allow batches: each piece of state is a request of its own else');
      }
    },
    { level: 'warn' },
  );
}

/** How new heads arrive. */
async function checkNews(
  upstream: Upstream,
  section: Section,
  { settings, signal }: UpstreamContext,
): Promise<void> {
  const { subscribe } = upstream;
  if (subscribe === undefined) {
    section.ok(
      'new heads',
      `asked for every ${settings.upstreamPollMs} ms (HTTP); ws:// would announce them`,
    );
    return;
  }
  const stop = new AbortController();
  const started = Promise.withResolvers<'started'>();
  const until = AbortSignal.any([signal, stop.signal]);
  try {
    const running = subscribe(
      ['newHeads'],
      { onStart: () => started.resolve('started'), onEvent: () => {} },
      until,
    );
    const late = delay(SUBSCRIBE_MS, 'late', { signal: until }).catch(() => 'late');
    const ended = running.then(() => 'late');
    if ((await Promise.race([started.promise, ended, late])) === 'started') {
      section.ok('new heads', 'announced (newHeads)');
    } else section.fail('new heads', `no subscription within ${SUBSCRIBE_MS} ms`, NEWS_FIX);
  } catch (error) {
    if (!isTheirs(error)) throw error;
    section.fail('new heads', wordsOf(error), NEWS_FIX);
  } finally {
    stop.abort();
  }
}

const NEWS_FIX = 'use its http:// URL, or a server that offers eth_subscribe newHeads';
