import type { Socket } from 'node:net';

export interface ClientMemoryOptions {
  /** What all workers of the process may hold for clients together, in bytes. */
  readonly maxBytes: number;
  /** How long a client may take nothing of what was sent to it; longer where that is much. */
  readonly sendTimeoutMs: number;
}

/** Shared memory in which each worker says how much it holds for clients, in KiB. */
export type ClientMemoryShares = Int32Array<SharedArrayBuffer>;

/** Makes it, for as many workers. */
export function newClientMemoryShares(workers: number): ClientMemoryShares {
  return new Int32Array(new SharedArrayBuffer(workers * Int32Array.BYTES_PER_ELEMENT));
}

export interface ClientMemoryModules {
  readonly shares: ClientMemoryShares;
  readonly workerIndex: number;
}

/** Why a connection is cut: its client does not take what was sent, or the process holds too much for clients. */
export type CutReason = 'slow' | 'memory';

/** One connection whose client costs memory. */
export interface Holder {
  readonly socket: Pick<Socket, 'writableLength' | 'bytesWritten'>;
  /** Whose connection it is: a remote address. */
  readonly client: string;
  /** What is held for it beside what it has not taken: the connection itself, requests, filters. */
  readonly heldBytes: number;
  /** Closes it; under `memory` at once, without a word. */
  cut(reason: CutReason): void;
}

const SHARE_UNIT = 1_024;
/** Who takes at least so many bytes a second is not too slow, however long the whole of it takes. */
const SLOWEST_BYTES_PER_SECOND = 65_536;
/** Connections cut for one piece of memory: each look is at all of them. */
const MAX_CUTS_AT_ONCE = 64;

/**
 * What one worker holds for its clients: answers and notifications that they have not taken, requests that have not
 * arrived whole, filters of subscriptions, and the connections themselves. Whoever does not take what it asked for
 * within a time is cut. When all workers together hold too much, the client that holds most loses connections.
 */
export class ClientMemory {
  readonly #options: ClientMemoryOptions;
  readonly #shares: ClientMemoryShares;
  readonly #workerIndex: number;
  readonly #clients = new Map<string, Set<HeldBytes>>();
  #bytes = 0;
  /** Connections cut, by reason. */
  readonly cuts: Record<CutReason, number> = { slow: 0, memory: 0 };

  constructor(options: ClientMemoryOptions, { shares, workerIndex }: ClientMemoryModules) {
    this.#options = options;
    this.#shares = shares;
    this.#workerIndex = workerIndex;
  }

  /** What this worker holds. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a connection, from now until it is released. */
  hold(holder: Holder): HeldBytes {
    const held = new HeldBytes(holder, (change) => this.#change(held, change));
    const ofClient = this.#clients.get(held.client);
    if (ofClient === undefined) this.#clients.set(held.client, new Set([held]));
    else ofClient.add(held);
    held.update();
    return held;
  }

  /** Is told the time now and then, and cuts who is too slow. */
  tick(elapsedMs: number): void {
    const { sendTimeoutMs } = this.#options;
    for (const ofClient of this.#clients.values()) {
      for (const held of ofClient) {
        held.update();
        const unsent = held.holder.socket.writableLength;
        const allowedMs = sendTimeoutMs + (unsent / SLOWEST_BYTES_PER_SECOND) * 1_000;
        if (held.stalledFor(elapsedMs) > allowedMs) this.#cut(held, 'slow');
      }
    }
    // Another worker may have taken what this one should leave.
    this.#relieve();
  }

  #change(held: HeldBytes, change: number): void {
    this.#bytes += change;
    Atomics.store(this.#shares, this.#workerIndex, Math.ceil(this.#bytes / SHARE_UNIT));
    if (held.isReleased) this.#forget(held);
    else if (change > 0) this.#relieve();
  }

  #forget(held: HeldBytes): void {
    const { client } = held;
    const ofClient = this.#clients.get(client);
    ofClient?.delete(held);
    if (ofClient?.size === 0) this.#clients.delete(client);
  }

  /** Only a worker that holds more than its part cuts connections: honest clients of another must not pay for it. */
  #mustRelieve(): boolean {
    const { maxBytes } = this.#options;
    if (this.#bytes * this.#shares.length <= maxBytes) return false;
    let units = 0;
    for (let index = 0; index < this.#shares.length; index++) units += Atomics.load(this.#shares, index);
    return units * SHARE_UNIT > maxBytes;
  }

  #relieve(): void {
    for (let cuts = 0; cuts < MAX_CUTS_AT_ONCE && this.#mustRelieve(); cuts++) {
      const worst = this.#worst();
      if (worst === undefined) return;
      this.#cut(worst, 'memory');
    }
  }

  /** Of the client that holds most, what it holds most of for longest. */
  #worst(): HeldBytes | undefined {
    let most: Set<HeldBytes> | undefined;
    let mostBytes = -1;
    for (const ofClient of this.#clients.values()) {
      let bytes = 0;
      for (const held of ofClient) bytes += held.bytes;
      if (bytes > mostBytes) [most, mostBytes] = [ofClient, bytes];
    }
    let worst: HeldBytes | undefined;
    for (const held of most ?? []) if (worst === undefined || held.weight > worst.weight) worst = held;
    return worst;
  }

  #cut(held: HeldBytes, reason: CutReason): void {
    this.cuts[reason]++;
    // First: whatever the connection does on its way out is not counted any more.
    held.release();
    held.holder.cut(reason);
  }
}

/** What is held for one connection. */
export class HeldBytes {
  readonly holder: Holder;
  /** Of the time it began: a proxy's connection is of one client after another. */
  readonly client: string;
  readonly #onChange: (change: number) => void;
  #bytes = 0;
  /** What the client had taken when it was last looked at; nobody has looked yet. */
  #taken = -1;
  #stalledMs = 0;
  #isReleased = false;

  constructor(holder: Holder, onChange: (change: number) => void) {
    this.holder = holder;
    this.client = holder.client;
    this.#onChange = onChange;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** How much it matters who holds this: bytes, and how long they have been waiting. */
  get weight(): number {
    return this.#bytes * (1 + this.#stalledMs / 1_000);
  }

  /** Counts again. */
  update(): void {
    if (this.#isReleased) return;
    const { socket, heldBytes } = this.holder;
    this.#set(heldBytes + socket.writableLength);
  }

  /** How long the client has taken nothing although something waits for it, `elapsedMs` after the last question. */
  stalledFor(elapsedMs: number): number {
    const { writableLength, bytesWritten } = this.holder.socket;
    const taken = bytesWritten - writableLength;
    const stands = writableLength > 0 && taken === this.#taken;
    this.#taken = taken;
    this.#stalledMs = stands ? this.#stalledMs + elapsedMs : 0;
    return this.#stalledMs;
  }

  /** The connection is gone, or counted elsewhere. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#set(0);
  }

  #set(bytes: number): void {
    const change = bytes - this.#bytes;
    this.#bytes = bytes;
    if (change !== 0) this.#onChange(change);
  }
}
