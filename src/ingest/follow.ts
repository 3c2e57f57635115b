import type { CommandOptions } from '../config/table.ts';
import type { StateLoader } from '../executor/interface.ts';
import { NativeExecutor } from '../executor/native-executor.ts';
import { servingOptions } from '../executor/options.ts';
import { SourceError } from '../source/errors.ts';
import type { ChainSource, UpstreamStatus } from '../source/interface.ts';
import { DEFAULT_SOURCE_OPTIONS, type SourceOptions } from '../source/options.ts';
import { RpcSource } from '../source/rpc-source.ts';
import { isUnwritable } from '../store/error.ts';
import { withAncestors } from './ancestor-reader.ts';
import { Anchoring } from './anchor.ts';
import { BlockReader } from './block-reader.ts';
import type { ChainCopy, CopyModules, Hindrance } from './chain-copy.ts';
import { expectChainId, expectSameChain, keepRules, rulesToFollow } from './chain-rules.ts';
import type { ObserveFollowing } from './follow-events.ts';
import { FollowTelemetry, measurePins } from './follow-metrics.ts';
import { Follower } from './follower.ts';
import { Following } from './following.ts';
import { openPreconfirming } from './open-preconfirming.ts';
import { PinnedState } from './pinned-state.ts';
import { provenReader } from './proven-reader.ts';
import { untilReachable } from './retry.ts';
import { RulesProof } from './rules-proof.ts';
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
    const onFault = (err: unknown): void => {
      // Said once by whoever writes; pins wait, and what is lost of them is read again.
      if (!isUnwritable(err)) logger.error({ err }, 'pins cannot be written');
    };
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
    measurePins(modules.registry, () => state.waiting);
    const load: StateLoader = (keys, number, of, request) => state.load(keys, number, of, request);
    const executor = NativeExecutor.create(rules.text, servingOptions(options), { load });
    archive?.expectChain(executor.chainId);
    if (rules.standing === 'unproven') await expectSameChain(store, executor.chainId, options.data);
    await expectChainId(source, executor.chainId, modules.signal).catch((error: unknown) => {
      // With no upstream to ask, what is held can be served: each is asked again before it is used.
      if (!(error instanceof SourceError)) throw error;
    });
    const preconfirming = openPreconfirming(options, { ...modules, executor, state });
    const proof = new RulesProof(rules, { store, logger });
    const observe: ObserveFollowing = (event) => {
      telemetry.observeFollowing(event);
      proof.observe(event);
      if (event.kind === 'moved') preconfirming?.setHead(event.head);
    };
    const { publish } = modules;
    const blocks = new BlockReader({ source, executor });
    const parts = { store, executor, source, blocks, state, publish, observe };
    const followOptions = { ...options, retry: RETRY };
    const anchoring = new Anchoring(followOptions, parts);
    await anchoring.begin(modules.signal);
    if (rules.standing === 'fitting') await keepRules(store, rules);
    const began = performance.now();
    const first = (await store.marks())?.head;
    if (first === undefined) throw new Error('the store holds no block');
    observe({ kind: 'moved', head: first });
    const follower = new Follower(options, { ...parts, prove });
    const following = new Following(followOptions, { ...parts, follower, anchoring }, first);
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
        } else if (telemetry.confirmedAgeMs >= options.readyConfirmedMs) {
          const seconds = Math.round(telemetry.confirmedAgeMs / 1_000);
          hindrances.push({ reason: 'upstream', detail: `no upstream has named our head for ${seconds} s` });
        }
        const status = source.status();
        const out = status.flatMap(exclusionOf);
        // Their heads are not listened to: without this, a node that follows nobody would look well.
        if (out.length === status.length) hindrances.push({ reason: 'upstream', detail: out.join('; ') });
        const warnings = out.length === status.length ? [] : out;
        const age = preconfirming === undefined ? 0 : (preconfirming.ageMs ?? performance.now() - began);
        if (age >= options.readyPreconfirmedMs) {
          const seconds = Math.round(age / 1_000);
          hindrances.push({ reason: 'pre-confirmed age', detail: `no flashblock for ${seconds} s` });
        }
        return { head, lag, hindrances, warnings, leader: following.leader };
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
        await state.flush().catch(onFault);
      },
    };
  } catch (error) {
    closeSources();
    throw error;
  }
}

/** Why an upstream is not used, in words. */
function exclusionOf({ name, outForMs, otherChain }: UpstreamStatus): string[] {
  if (otherChain !== undefined) return [`${name} is of another chain, ${otherChain}, and is not used`];
  const seconds = Math.ceil(outForMs / 1_000);
  return outForMs > 0 ? [`${name} is kept out for lying, for another ${seconds} s`] : [];
}

function sourceOptions(options: FollowOptions): SourceOptions {
  const { watch } = DEFAULT_SOURCE_OPTIONS;
  return { pool: poolOptions(options), watch: { ...watch, pollMs: options.upstreamPollMs } };
}
