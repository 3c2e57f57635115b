import {
  type AbiEvent,
  type BlockTag,
  type Client,
  type Hex,
  numberToHex,
  type RpcLog,
  zeroHash,
} from 'viem';
import { getCapabilities } from './capabilities.ts';
import { rangePages } from './get-log-pages.ts';
import { type FoundLog, foundLog, type LogFilter, rpcFilter } from './log-filter.ts';
import { HeldLogsError, type LogChange, LogLedger, StreamError } from './log-ledger.ts';
import { type ChainPosition, parsePoint } from './position.ts';
import { type Notification, RpcSocket } from './rpc-socket.ts';

/** A log came, or one that came before does not stand any more. Retractions go from the newest log down. */
export type LogEvent<event extends AbiEvent | undefined = undefined> =
  | { readonly type: 'log'; readonly log: FoundLog<event> }
  | { readonly type: 'retracted'; readonly log: FoundLog<event> };

export type WatchChainLogsParameters<event extends AbiEvent | undefined = undefined> = LogFilter<event> & {
  /** Pre-confirmed logs, as soon as they can be read, or those of confirmed blocks only. Default: `pendingLogs`. */
  readonly kind?: 'pendingLogs' | 'logs' | undefined;
  /** The first block wanted: history comes first. Default: the block after the head. */
  readonly fromBlock?: bigint | BlockTag | undefined;
  readonly onEvent: (event: LogEvent<event>) => void;
  /** Hears why a connection ended or could not be made; the watch goes on by itself, except after a `HeldLogsError`. */
  readonly onError?: ((error: Error) => void) | undefined;
  /** Default: the client's URL, with `ws` for `http`. */
  readonly webSocketUrl?: string | undefined;
  /** Between two looks where there is no stream. Default: the client's `pollingInterval`. */
  readonly pollingInterval?: number | undefined;
  /** Logs that are not final and have to be held to be taken back. Default: 100,000. */
  readonly maxHeldLogs?: number | undefined;
};

const maxHeldLogs = 100_000;
const firstRetryMs = 100;
const lastRetryMs = 5_000;
/** Until the stream has told all that it is asked about. */
const doubtMs = 250;
/** How often the final block is asked for, and with it whether the connection still is one. */
const finalMs = 15_000;

/**
 * Watches logs through disconnects, restarts and reorgs: whoever adds each log and deletes it when it is retracted holds, at all
 * times, what `eth_getLogs` gives from `fromBlock` on. What it gives back ends the watch.
 */
export function watchChainLogs<const event extends AbiEvent | undefined = undefined>(
  client: Client,
  parameters: WatchChainLogsParameters<event>,
): () => void {
  const watch = new LogWatch(client, parameters);
  void watch.run();
  return () => watch.stop();
}

type Ask = <T>(method: string, params: readonly unknown[]) => Promise<T>;

class LogWatch<event extends AbiEvent | undefined> {
  readonly #client: Client;
  readonly #parameters: WatchChainLogsParameters<event>;
  readonly #filter: object;
  readonly #position: ChainPosition | undefined;
  readonly #stopped: Promise<void>;
  #ledger: LogLedger | undefined;
  #socket: RpcSocket | undefined;
  #isStopped = false;
  #stop: () => void = () => {};

  constructor(client: Client, parameters: WatchChainLogsParameters<event>) {
    this.#client = client;
    this.#parameters = parameters;
    this.#filter = rpcFilter(parameters);
    this.#position = (client.transport as { readonly position?: ChainPosition }).position;
    this.#stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#stop();
    this.#socket?.close();
  }

  /** Goes on until it is stopped. */
  async run(): Promise<void> {
    let retryMs = firstRetryMs;
    while (!this.#isStopped) {
      const began = Date.now();
      try {
        const { resume, pendingLogs } = await getCapabilities(this.#client);
        const { kind = 'pendingLogs' } = this.#parameters;
        if (resume) await this.#stream(kind === 'pendingLogs' && pendingLogs ? kind : 'logs');
        else await this.#poll();
      } catch (error) {
        if (this.#isStopped) return;
        this.#parameters.onError?.(error as Error);
        if (error instanceof HeldLogsError) return;
      } finally {
        this.#socket?.close();
      }
      retryMs = Date.now() - began > lastRetryMs ? firstRetryMs : Math.min(retryMs * 2, lastRetryMs);
      await this.#pause(retryMs);
    }
  }

  /** One connection, from its beginning to its end, which is an error. */
  async #stream(kind: 'pendingLogs' | 'logs'): Promise<void> {
    const { webSocketUrl = webSocketUrlOf(this.#client) } = this.#parameters;
    const socket = await RpcSocket.open(webSocketUrl);
    this.#socket = socket;
    if (this.#isStopped) return;
    const ask: Ask = (method, params) => socket.request(method, params);
    const final = await finalOf(ask);
    const ledger = await this.#ledgerFrom(ask);
    ledger.begin(final);
    const { block, index } = ledger.next;
    const place = { fromBlock: hex(block), fromLogIndex: hex(index) };
    const { promise: broken, reject: fail } = brokenBy();
    const deliver = (notification: Notification): void => {
      try {
        this.#reach(notification);
        ledger.take(notification.result as RpcLog);
      } catch (error) {
        fail(error as Error);
      }
    };
    await socket.subscribe([kind, { ...this.#filter, ...place, points: true }], deliver);
    const closed = socket.closed.then((error) => Promise.reject(error));
    await Promise.race([closed, broken, this.#tend(ask, ledger, kind, final), this.#stopped]);
  }

  /** What the stream does not say by itself: that logs in doubt do not stand, and which are final. */
  async #tend(ask: Ask, ledger: LogLedger, kind: 'pendingLogs' | 'logs', final: number): Promise<void> {
    const toBlock = kind === 'logs' ? 'latest' : 'pending';
    while (ledger.inDoubt > 0) {
      await this.#pause(doubtMs);
      if (this.#isStopped) return;
      const fromBlock = hex(Math.max(0, Math.min(final, ledger.next.block)));
      const range = { ...this.#filter, fromBlock, toBlock };
      const logs = await ask<readonly RpcLog[]>('eth_getLogs', [range]).catch(() => undefined);
      // Too many to ask for at once: all in doubt are taken back, and told again by the stream.
      if (logs === undefined) ledger.dropDoubted();
      else ledger.compare(logs);
    }
    while (!this.#isStopped) {
      await this.#pause(finalMs);
      if (!this.#isStopped) ledger.noteFinal(await finalOf(ask));
    }
  }

  /** Looks again and again, on a node without streams that can be resumed. */
  async #poll(): Promise<void> {
    const { pollingInterval = this.#client.pollingInterval } = this.#parameters;
    const request = this.#client.request as unknown as (body: object) => Promise<unknown>;
    const ask: Ask = <T>(method: string, params: readonly unknown[]) =>
      request({ method, params }) as Promise<T>;
    while (!this.#isStopped) {
      const final = await finalOf(ask);
      const ledger = await this.#ledgerFrom(ask);
      const head = Number(await ask<Hex>('eth_blockNumber', []));
      // A node that is behind says nothing of what is final.
      if (head >= ledger.next.block) await this.#look(ledger, head, final);
      await this.#pause(pollingInterval);
    }
  }

  async #look(ledger: LogLedger, head: number, final: number): Promise<void> {
    const { block, index } = ledger.next;
    const logs: RpcLog[] = [];
    const range = { fromBlock: BigInt(block), toBlock: BigInt(head) };
    for await (const page of rangePages(this.#client, this.#filter, range)) logs.push(...page);
    ledger.begin(-1);
    for (const log of logs)
      if (Number(log.blockNumber) > block || Number(log.logIndex) >= index) ledger.take(log);
    ledger.dropDoubted();
    ledger.finalize(final);
  }

  async #ledgerFrom(ask: Ask): Promise<LogLedger> {
    if (this.#ledger !== undefined) return this.#ledger;
    const { fromBlock, maxHeldLogs: most = maxHeldLogs } = this.#parameters;
    const block = await firstBlock(ask, fromBlock);
    this.#ledger = new LogLedger({ block, index: 0 }, most, (change) => this.#tell(change));
    return this.#ledger;
  }

  #tell({ type, log }: LogChange): void {
    if (this.#isStopped) return;
    const found = foundLog(this.#parameters, log);
    if (found === undefined) return;
    const { onEvent, onError } = this.#parameters;
    try {
      onEvent({ type: type === 'added' ? 'log' : 'retracted', log: found });
    } catch (error) {
      // It has been told: the stream goes on.
      onError?.(error as Error);
    }
  }

  /** A read that a message causes sees at least what the message told, whichever node answers it. */
  #reach({ result, point }: Notification): void {
    const { blockNumber, blockHash, removed } = result as RpcLog;
    if (this.#position === undefined || removed) return;
    const told = parsePoint(point ?? '');
    if (told !== undefined) this.#position.reach(told);
    else if (blockNumber !== null)
      this.#position.reach({ number: Number(blockNumber), index: blockHash === zeroHash ? 0 : undefined });
  }

  async #pause(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const slept = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([slept, this.#stopped]);
    clearTimeout(timer);
  }
}

const hex = (value: number): Hex => numberToHex(value);

/** The number of the final block; -1 where the node knows of none. */
async function finalOf(ask: Ask): Promise<number> {
  const block = await ask<{ readonly number: Hex } | null>('eth_getBlockByNumber', ['finalized', false]);
  return block === null ? -1 : Number(block.number);
}

async function firstBlock(ask: Ask, from: bigint | BlockTag | undefined): Promise<number> {
  if (typeof from === 'bigint') return Number(from);
  if (from === undefined) return Number(await ask<Hex>('eth_blockNumber', [])) + 1;
  const block = await ask<{ readonly number: Hex } | null>('eth_getBlockByNumber', [from, false]);
  if (block === null) throw new StreamError(`the node has no ${from} block`);
  return Number(block.number);
}

function webSocketUrlOf({ transport }: Client): string {
  const { url } = transport as { readonly url?: string };
  if (url === undefined) throw new TypeError('name a webSocketUrl: the transport of this client has none');
  return url.replace(/^http/, 'ws').replace(/#.*$/, '');
}

function brokenBy(): { readonly promise: Promise<never>; readonly reject: (error: Error) => void } {
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<never>((_, onError) => {
    reject = onError;
  });
  return { promise, reject };
}
