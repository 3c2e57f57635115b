import type { StateKey } from '../chain/state-key.ts';
import type { Hex } from '../primitives/hex.ts';
import { HeadWatcher } from './heads/watcher.ts';
import type {
  CallAnswer,
  ChainSource,
  Finality,
  HeadListener,
  JsonObject,
  Lie,
  ReadOptions,
  StateRead,
  UpstreamAnswer,
  UpstreamHead,
  UpstreamStatus,
} from './interface.ts';
import type { SourceOptions } from './pool/options.ts';
import { type PoolModules, Upstreams } from './pool/upstreams.ts';
import {
  readAncestors,
  readBlockByHash,
  readBlockByNumber,
  readChainIds,
  readFinality,
  readHashAt,
  readHeads,
  readLatest,
} from './reads/blocks.ts';
import { readCall } from './reads/calls.ts';
import { readForkConfigs } from './reads/fork-configs.ts';
import { readPassed } from './reads/passing.ts';
import { readReceipts } from './reads/receipts.ts';
import { readPrestate, readProof, readState, readStateDiffs } from './reads/state.ts';

/** A chain behind standard JSON-RPC servers. */
export class RpcSource implements ChainSource {
  readonly #pool: Upstreams;
  readonly #watcher: HeadWatcher;

  constructor(urls: readonly string[], options: SourceOptions, modules: PoolModules = {}) {
    this.#pool = new Upstreams(urls, options.pool, modules);
    this.#watcher = new HeadWatcher(this.#pool, options.watch, modules);
  }

  chainIds(options: ReadOptions = {}): Promise<readonly UpstreamAnswer<bigint>[]> {
    return readChainIds(this.#pool, options);
  }

  expectChain(chainId: bigint): void {
    for (const upstream of this.#pool.upstreams) upstream.expectChain(chainId);
  }

  forkConfigs(options: ReadOptions = {}): Promise<readonly UpstreamAnswer<JsonObject | undefined>[]> {
    return readForkConfigs(this.#pool, options);
  }

  head(options?: ReadOptions): Promise<UpstreamAnswer<UpstreamHead>> {
    return readLatest(this.#pool, options);
  }

  heads(options?: ReadOptions): Promise<readonly UpstreamAnswer<UpstreamHead>[]> {
    return readHeads(this.#pool, options);
  }

  finality(options?: ReadOptions): Promise<UpstreamAnswer<Finality>> {
    return readFinality(this.#pool, options);
  }

  async blockByHash(hash: Hex, options: ReadOptions = {}): Promise<UpstreamAnswer<JsonObject> | undefined> {
    return this.#watcher.polledBlock(hash, options) ?? readBlockByHash(this.#pool, hash, options);
  }

  hashAt(number: number, options?: ReadOptions): Promise<UpstreamAnswer<Hex> | undefined> {
    return readHashAt(this.#pool, number, options);
  }

  blockByNumber(number: number, options?: ReadOptions): Promise<UpstreamAnswer<JsonObject> | undefined> {
    return readBlockByNumber(this.#pool, number, options);
  }

  ancestors(hash: Hex, from: number, options?: ReadOptions): Promise<UpstreamAnswer<readonly JsonObject[]>> {
    return readAncestors(this.#pool, hash, from, options);
  }

  receipts(hash: Hex, options?: ReadOptions): Promise<UpstreamAnswer<readonly JsonObject[]>> {
    return readReceipts(this.#pool, hash, options);
  }

  state(keys: readonly StateKey[], blockHash: Hex, options?: ReadOptions): Promise<readonly StateRead[]> {
    return readState(this.#pool, keys, blockHash, options);
  }

  proof(
    address: Uint8Array,
    slots: readonly Uint8Array[],
    blockHash: Hex,
    options?: ReadOptions,
  ): Promise<UpstreamAnswer<JsonObject>> {
    return readProof(this.#pool, { address, slots, blockHash }, options);
  }

  prestate(
    blockHash: Hex,
    options?: ReadOptions,
  ): Promise<UpstreamAnswer<readonly JsonObject[]> | undefined> {
    return readPrestate(this.#pool, blockHash, options);
  }

  stateDiffs(blockHash: Hex, options?: ReadOptions): ReturnType<ChainSource['stateDiffs']> {
    return readStateDiffs(this.#pool, blockHash, options);
  }

  call(
    transaction: JsonObject,
    blockHash: Hex,
    extra: readonly unknown[],
    options?: ReadOptions,
  ): Promise<UpstreamAnswer<CallAnswer>> {
    return readCall(this.#pool, { transaction, blockHash, extra }, options);
  }

  passOn(
    method: string,
    params: readonly unknown[],
    options?: ReadOptions,
  ): ReturnType<ChainSource['passOn']> {
    return readPassed(this.#pool, { method, params }, options);
  }

  watch(listener: HeadListener, signal: AbortSignal): Promise<void> {
    return this.#watcher.watch(listener, signal);
  }

  report(upstream: string, lie: Lie): void {
    this.#pool.report(upstream, lie);
  }

  status(): readonly UpstreamStatus[] {
    return this.#pool.status();
  }

  close(): void {
    this.#pool.close();
  }
}
