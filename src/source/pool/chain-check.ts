import { InvalidParamsError } from '../../primitives/errors.ts';
import { parseUint64 } from '../../primitives/parse.ts';
import { SingleFlight } from '../../primitives/single-flight.ts';
import type { Clock } from '../clock.ts';
import { SourceError, type SourceErrorCode } from '../errors.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import type { Subscribe, Transport } from '../transport/interface.ts';
import { encodeCall, readAnswer, toSourceError } from '../transport/json-rpc.ts';

export interface ChainCheckOptions {
  /** For the answer to one check. */
  readonly timeoutMs: number;
  /** How long an answer is good for while nothing breaks: behind one address there may be another server by then. */
  readonly chainCheckMs: number;
  /** How long an upstream of another chain is left alone. */
  readonly otherChainMs: number;
}

export interface ChainCheckModules {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Told when an upstream turns out to be of another chain, and when it is of the right one again. */
  readonly onChain: (chainId: bigint, isRight: boolean) => void;
  /** Told when another server may answer than before. */
  readonly onNewConnection: () => void;
}

/** Ids of the checks, out of the way of everybody else's. */
const FIRST_ID = 2 ** 41;
/** After these, whoever answers next may be somebody else. */
const LOSSES: ReadonlySet<SourceErrorCode> = new Set<SourceErrorCode>([
  'unreachable',
  'timeout',
  'overloaded',
  'garbage',
]);

/**
 * A transport that finds out which chain it leads to before it is used: on each new connection, after each failure to
 * reach anybody, and now and then. Nothing is sent to, or taken from, an upstream of another chain.
 */
export class ChainCheck implements Transport {
  readonly subscribe?: Subscribe;
  readonly #endpoint: Endpoint;
  readonly #options: ChainCheckOptions;
  readonly #modules: ChainCheckModules;
  readonly #flights = new SingleFlight();
  #expected: bigint | undefined;
  #passed: { readonly connection: number; readonly at: number } | undefined;
  #other: { readonly chainId: bigint; readonly at: number } | undefined;
  /** The connection that was last told of as new. */
  #told: number | undefined;
  #nextId = FIRST_ID;

  constructor(endpoint: Endpoint, options: ChainCheckOptions, modules: ChainCheckModules) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#modules = modules;
    const { subscribe } = modules.transport;
    if (subscribe !== undefined) this.subscribe = (...args) => this.#subscribe(subscribe, ...args);
  }

  get connection(): number {
    return this.#modules.transport.connection;
  }

  /** The chain that it is of instead of the one that it must be. */
  get otherChain(): bigint | undefined {
    return this.#other?.chainId;
  }

  /** Says which chain it must lead to; until then, any will do. */
  expect(chainId: bigint): void {
    this.#expected = chainId;
    this.#passed = undefined;
  }

  async exchange(body: string, ids: readonly number[], signal: AbortSignal): Promise<unknown> {
    const { transport } = this.#modules;
    await this.#check(signal);
    const { connection } = transport;
    try {
      const json = await transport.exchange(body, ids, signal);
      this.#expectSame(connection);
      return json;
    } catch (error) {
      this.#noteLoss(error);
      throw error;
    }
  }

  reset(): void {
    this.#modules.transport.reset();
  }

  close(): void {
    this.#modules.transport.close();
  }

  async #subscribe(subscribe: Subscribe, ...args: Parameters<Subscribe>): Promise<void> {
    const [params, events, signal] = args;
    await this.#check(signal);
    const { connection } = this.#modules.transport;
    const stop = new AbortController();
    const onStart = (): void => {
      if (this.connection === connection) events.onStart();
      else stop.abort();
    };
    await subscribe(params, { ...events, onStart }, AbortSignal.any([signal, stop.signal]));
    if (!signal.aborted) this.#expectSame(connection);
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { clock, transport } = this.#modules;
    const now = clock.now();
    const passed = this.#passed;
    const isRecent = passed !== undefined && now - passed.at < this.#options.chainCheckMs;
    if (this.#expected === undefined || (isRecent && passed.connection === transport.connection)) return;
    if (this.#other !== undefined && now - this.#other.at < this.#options.otherChainMs) {
      throw this.#refusal(this.#other.chainId);
    }
    await this.#flights.run('chain id', signal, (over) => this.#ask(over));
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { clock, transport, onChain, onNewConnection } = this.#modules;
    const { connection } = transport;
    const { timeoutMs } = this.#options;
    const stop = new AbortController();
    const late = this.#error('timeout', `no chain id within ${timeoutMs} ms`);
    const cancel = clock.after(timeoutMs, () => stop.abort(late));
    try {
      const id = this.#nextId++;
      const over = AbortSignal.any([signal, stop.signal]);
      const json = await transport.exchange(encodeCall(id, 'eth_chainId', []), [id], over);
      this.#expectSame(connection);
      const chainId = this.#read(json);
      const isRight = chainId === this.#expected;
      const wasOther = this.#other?.chainId;
      this.#passed = isRight ? { connection, at: clock.now() } : undefined;
      this.#other = isRight ? undefined : { chainId, at: clock.now() };
      if (isRight ? wasOther !== undefined : wasOther !== chainId) onChain(chainId, isRight);
      if (!isRight) throw this.#refusal(chainId);
      if (this.#told !== connection) onNewConnection();
      this.#told = connection;
    } catch (error) {
      this.#passed = undefined;
      this.#noteLoss(error);
      throw error;
    } finally {
      cancel();
    }
  }

  #noteLoss(error: unknown): void {
    const code = error instanceof SourceError ? error.type.code : undefined;
    if (code !== undefined && LOSSES.has(code)) this.#passed = undefined;
    // The others may be of one request that was too much for it.
    if (code === 'unreachable') this.#told = undefined;
  }

  #read(json: unknown): bigint {
    const answer = readAnswer(json);
    if (answer !== undefined && 'error' in answer) throw toSourceError(answer.error, this.#endpoint);
    try {
      return parseUint64(answer?.result, 'chain id');
    } catch (error) {
      if (!(error instanceof InvalidParamsError)) throw error;
      throw this.#error('garbage', error.message);
    }
  }

  /** What came over another connection than the one that was checked may be of another chain. */
  #expectSame(connection: number): void {
    if (this.connection !== connection) throw this.#error('unreachable', 'the connection was lost');
  }

  #refusal(chainId: bigint): SourceError {
    return this.#error('otherChain', `is of chain ${chainId}, not ${this.#expected}`);
  }

  #error(code: SourceErrorCode, what: string): SourceError {
    const { name, scrub } = this.#endpoint;
    return new SourceError({ code, upstream: name }, `${name}: ${scrub(what)}`);
  }
}
