import type { CommandOptions } from '../config/table.ts';
import type { StateLoader } from '../executor/interface.ts';
import { NativeExecutor } from '../executor/native-executor.ts';
import { servingOptions } from '../executor/options.ts';
import { SourceError } from '../source/errors.ts';
import type { ChainSource } from '../source/interface.ts';
import { DEFAULT_SOURCE_OPTIONS, type SourceOptions } from '../source/options.ts';
import { RpcSource } from '../source/rpc-source.ts';
import { withAncestors } from './ancestor-reader.ts';
import type { ChainCopy, CopyModules, Hindrance } from './chain-copy.ts';
import { expectChainId, rulesToFollow } from './chain-rules.ts';
import type { ObserveFollowing } from './follow-events.ts';
import { FollowTelemetry } from './follow-metrics.ts';
import { Following } from './following.ts';
import { openPreconfirming } from './open-preconfirming.ts';
import { PinnedState } from './pinned-state.ts';
import { provenReader } from './proven-reader.ts';
import { untilReachable } from './retry.ts';
import { poolOptions } from './source-options.ts';
import { plainReader } from './state-reader.ts';

type FollowOptions = CommandOptions<'serve'> & { readonly upstream: readonly string[] };

const RETRY = { firstMs: 100, maxMs: 5_000 };
/** Code of contracts below the anchor that is kept in memory. */
const ARCHIVE_CODE_BYTES = 2 ** 26;

/** Opens a copy, or begins one, and prepares to keep it at the head of its chain. */
export async function followChain(options: FollowOptions, modules: CopyModules): Promise<ChainCopy> {
  const { store, logger } = modules;
  const telemetry = new FollowTelemetry(modules.registry, logger);
  const sourceModules = { observe: telemetry.observeSource };
  const source: ChainSource = new RpcSource(options.upstream, sourceOptions(options), sourceModules);
  const archive =
    options.archive === undefined
      ? undefined
      : new RpcSource(options.archive, sourceOptions(options), sourceModules);
  const stop = new AbortController();
  const closeSources = (): void => {
    source.close();
    archive?.close();
  };
  try {
    const patience = {
      signal: modules.signal,
      retry: RETRY,
      onFailure: (err: Error, retryMs: number) => logger.warn({ err, retryMs }, 'waiting for an upstream'),
    };
    const rules = await untilReachable(
      () => rulesToFollow(options.chain, { store, source }, modules.signal),
      patience,
    );
    if (options.oddTransactionsRoots) {
      logger.warn('--odd-transactions-roots: upstreams are believed which transactions a block has');
    }
    const onFault = (err: unknown): void => logger.error({ err }, 'pins cannot be written');
    const prove = withAncestors(provenReader({ source, store }), { source, store });
    const believe = withAncestors(plainReader(source), { source, store });
    const state = new PinnedState(
      { maxPins: options.maxPins, pinDelayMs: options.pinDelayMs, archiveCodeBytes: ARCHIVE_CODE_BYTES },
      {
        store,
        read: options.verifyState ? prove : believe,
        readArchive: archive && withAncestors(plainReader(archive), { source: archive, store }),
        onFault,
      },
    );
    const load: StateLoader = (keys, number, of) => state.load(keys, number, of);
    const executor = NativeExecutor.create(rules, servingOptions(options), { load });
    await expectChainId(source, executor.chainId, modules.signal).catch((error: unknown) => {
      // With no upstream to ask, what is held can be served: following begins with the same question.
      if (!(error instanceof SourceError)) throw error;
    });
    const preconfirming = openPreconfirming(options, { ...modules, executor, state });
    const observe: ObserveFollowing = (event) => {
      telemetry.observeFollowing(event);
      if (event.kind === 'moved') preconfirming?.setHead(event.head);
    };
    const following = new Following(
      { ...options, retry: RETRY },
      { store, executor, source, state, prove, publish: modules.publish, observe },
    );
    await following.begin(modules.signal);
    const began = performance.now();
    const first = (await store.marks())?.head;
    if (first !== undefined) preconfirming?.setHead(first);
    let running: Promise<unknown> | undefined;
    return {
      executor,
      load,
      async condition() {
        const head = (await store.marks())?.head;
        const lag = Math.max(0, (following.target?.number ?? 0) - (head?.number ?? 0));
        const hindrances: Hindrance[] = [];
        const { trouble } = following;
        const { outage } = telemetry;
        if (trouble !== undefined || lag >= options.readyLagBlocks) {
          const why = trouble === undefined ? '' : `: ${trouble}`;
          hindrances.push({ reason: 'confirmed lag', detail: `${lag} blocks behind the upstream${why}` });
        }
        if (outage !== undefined && outage.ms >= options.readyUpstreamMs) {
          const seconds = Math.round(outage.ms / 1_000);
          hindrances.push({ reason: 'upstream', detail: `no answer for ${seconds} s: ${outage.reason}` });
        }
        const liars = source.status().filter(({ outForMs }) => outForMs > 0);
        // Their heads are not listened to: without this, a node that follows nobody would look well.
        if (liars.length === source.status().length) {
          const seconds = Math.ceil(Math.min(...liars.map(({ outForMs }) => outForMs)) / 1_000);
          const names = liars.map(({ name }) => name).join(', ');
          hindrances.push({
            reason: 'upstream',
            detail: `every upstream is kept out for lying: ${names}; one is asked again in ${seconds} s`,
          });
        }
        const age = preconfirming === undefined ? 0 : (preconfirming.ageMs ?? performance.now() - began);
        if (age >= options.readyPreconfirmedMs) {
          const seconds = Math.round(age / 1_000);
          hindrances.push({ reason: 'pre-confirmed age', detail: `no flashblock for ${seconds} s` });
        }
        return { head, lag, hindrances };
      },
      start() {
        running = Promise.all([following.run(stop.signal), preconfirming?.run(stop.signal)]).catch(
          modules.onFailure,
        );
      },
      async close() {
        stop.abort();
        closeSources();
        await running;
        await state.flush();
      },
    };
  } catch (error) {
    closeSources();
    throw error;
  }
}

function sourceOptions(options: FollowOptions): SourceOptions {
  const { watch } = DEFAULT_SOURCE_OPTIONS;
  return { pool: poolOptions(options), watch: { ...watch, pollMs: options.upstreamPollMs } };
}
