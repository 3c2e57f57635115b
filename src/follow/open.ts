import type { CommandOptions } from '../config/table.ts';
import type { StateLoader } from '../executor/interface.ts';
import { NativeExecutor } from '../executor/native-executor.ts';
import { servingOptions } from '../executor/options.ts';
import { openPreconfirming } from '../preconfirm/open.ts';
import { configText } from '../rules/chains.ts';
import { SourceError } from '../source/errors.ts';
import type { ChainSource } from '../source/interface.ts';
import { RpcSource } from '../source/rpc-source.ts';
import { BlockTime } from '../store/block-time.ts';
import { isUnwritable } from '../store/error.ts';
import { Anchoring } from './anchor.ts';
import { unknownForm } from './blocks/block-form.ts';
import { BlockReader } from './blocks/reader.ts';
import type { ChainCopy, CopyModules } from './chain-copy.ts';
import type { ObserveFollowing } from './events.ts';
import { readinessOf } from './health/readiness.ts';
import { FollowLoop } from './loop.ts';
import { FollowTelemetry, measurePins, measureTip } from './metrics.ts';
import { ChainMover } from './mover.ts';
import { openPassing, sourceOptions } from './passing/open-passing.ts';
import { untilReachable } from './retry.ts';
import { withAdopted } from './rules/adopted-blobs.ts';
import { expectChainId, expectSameChain, keepRules, rulesToFollow } from './rules/chain-rules.ts';
import { openGuard } from './rules/open-guard.ts';
import { RulesProof } from './rules/proof.ts';
import { takeBackByDiffs } from './rules/taken-back.ts';
import { UnknownForks } from './rules/unknown-forks.ts';
import { withAncestors } from './state/ancestor-reader.ts';
import { forwarderTo } from './state/forwarding.ts';
import { PinnedState } from './state/pinned-state.ts';
import { provenReader } from './state/proven-reader.ts';
import { plainReader } from './state/reader.ts';

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
    const proven = provenReader({ source, store });
    const prove = withAncestors(proven, { source, store, prove: proven });
    const believe = withAncestors(plainReader(source), { source, store, prove: proven });
    const state = new PinnedState(
      {
        ...{ maxPins: options.maxPins, pinDelayMs: options.pinDelayMs, archiveCodeBytes: ARCHIVE_CODE_BYTES },
        isShared: options.store !== undefined,
      },
      {
        store,
        read: options.verifyState ? prove : believe,
        readArchive: archive && withAncestors(plainReader(archive), { source: archive, store }),
        onFault,
      },
    );
    measurePins(modules.registry, () => state.waiting);
    measureTip(modules.registry, store);
    const load: StateLoader = (keys, number, of, request) => state.load(keys, number, of, request);
    const text = await withAdopted(store, rules.text);
    const executor = NativeExecutor.create(text, servingOptions(options), { load });
    for (const fork of executor.unknownForks) {
      logger.warn(
        { fork },
        'the chain has a fork whose rules this version does not know: it will stop there',
      );
    }
    archive?.expectChain(executor.chainId);
    if (rules.standing === 'unproven')
      await expectSameChain(store, executor.chainId, options.data ?? 'the store');
    await expectChainId(source, executor.chainId, modules.signal).catch((error: unknown) => {
      // With no upstream to ask, what is held can be served: each is asked again before it is used.
      if (!(error instanceof SourceError)) throw error;
    });
    const preconfirming = openPreconfirming(options, {
      ...modules,
      executor,
      state,
      stop: () => guard.preconfirmedStop,
    });
    let leader = (): string | undefined => undefined;
    const adoptBlobs = (config: string): void => executor.adoptBlobs(config);
    const guard = openGuard(text, options, { ...modules, source, adoptBlobs, leader: () => leader() });
    const proof = new RulesProof(rules, { store, logger });
    const observe: ObserveFollowing = (event) => {
      telemetry.observeFollowing(event);
      proof.observe(event);
      if (event.kind === 'moved') {
        preconfirming?.setHead(event.head);
        guard.moved(event.head, event.byDiffs);
      }
      if (event.kind === 'sealed') {
        const { kept, preconfirmed, transactions } = event;
        preconfirming?.count(event.block.number, { kept, preconfirmed, sealed: transactions });
      }
    };
    const { publish } = modules;
    const blocks = new BlockReader({ source, executor, unknownForm });
    const blockTime = new BlockTime(store);
    const parts = { store, executor, source, blocks, state, blockTime, publish, observe };
    const followOptions = { ...options, retry: RETRY };
    const isByDiffs = options.unknownFork === 'follow-by-diffs';
    await takeBackByDiffs({ text, unknownForks: executor.unknownForks }, isByDiffs, modules);
    const anchoring = new Anchoring(followOptions, parts);
    await anchoring.begin(modules.signal);
    if (rules.standing === 'fitting') await keepRules(store, rules);
    const began = performance.now();
    const begun = await store.marks();
    if (begun === undefined) throw new Error('the store holds no block');
    const first = begun.head;
    observe({ kind: 'moved', head: first, byDiffs: begun.byDiffs });
    const unknownForks = new UnknownForks({
      stop: () => guard.stop,
      refused: () => guard.refusedHash,
      obstacle: () => guard.obstacle,
      isKnown: (block) => executor.isKnown(block),
    });
    const mover = new ChainMover(options, {
      ...{ ...parts, prove, stop: () => guard.stop },
      unknownForks: isByDiffs ? unknownForks : undefined,
    });
    const loop = new FollowLoop(followOptions, { ...parts, mover, anchoring, rules: guard }, first);
    leader = () => loop.leader;
    let running: Promise<unknown> | undefined;
    const passing = openPassing(options, {
      ...{ chainId: executor.chainId, registry: modules.registry },
      upstream: { source, prefer: () => loop.leader },
    });
    return {
      executor,
      load,
      chainConfig: configText(text),
      passOn: passing.passOn,
      canSend: passing.canSend,
      forward: options.nativeContracts === 'forward' ? forwarderTo(source) : undefined,
      async condition() {
        const marks = await store.marks();
        const head = marks?.head;
        const lag = Math.max(0, (loop.target?.number ?? 0) - (head?.number ?? 0));
        const blockTimeMs = marks && (await blockTime.ms(marks.head.number, marks.lowest.number));
        const age = preconfirming === undefined ? 0 : (preconfirming.ageMs ?? performance.now() - began);
        const { outage, confirmedAgeMs } = telemetry;
        const { trouble } = loop;
        // Requests can be sent here while it is followed nevertheless: it is a warning then.
        const rulesTooOld = guard.isByDiffs ? undefined : guard.tooOld;
        const old = guard.isByDiffs ? [`rulesTooOld: ${guard.tooOld}`] : [];
        const seen = {
          lag,
          blockTimeMs,
          trouble,
          rulesTooOld,
          outage,
          confirmedAgeMs,
          preconfirmedAgeMs: age,
        };
        const { issues, warnings = [] } = readinessOf(options, { ...seen, upstreams: source.status() });
        return {
          head,
          lag,
          leader: loop.leader,
          issues,
          warnings: [...warnings, ...old, ...guard.warnings, ...telemetry.taken],
        };
      },
      upstreams: () => source.status(),
      start() {
        const { signal } = stop;
        const follow = async (): Promise<void> => {
          await guard.begin(signal);
          await loop.run(signal);
        };
        running = Promise.all([follow(), guard.run(signal), preconfirming?.run(signal)]).catch(
          modules.onFailure,
        );
      },
      async close() {
        stop.abort();
        passing.close();
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
