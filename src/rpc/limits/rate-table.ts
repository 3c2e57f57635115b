import { createHash, randomBytes } from 'node:crypto';

/** What clients have used, in memory that all threads share. */
export interface RateMemory {
  /** Who stands in each place, and until when what they used is theirs to wait for. */
  readonly names: SharedArrayBuffer;
  readonly times: SharedArrayBuffer;
  /** Makes places unpredictable: else a client could choose addresses that share one with somebody else. */
  readonly salt: Uint8Array;
}

/** How much a client may use: so many units a second, and what it saves while it is quiet. */
export interface Rate {
  readonly perSecond: number;
  /** The most that it saves, in seconds of that. */
  readonly burstSeconds: number;
}

const SETS = 8_192;
/** Places where a client may stand. */
const WAYS = 8;
const SECOND = 1_000_000_000;

/** Makes the memory (about 0.8 MB); nobody has used anything. */
export function newRateMemory(): RateMemory {
  return {
    names: new SharedArrayBuffer(SETS * WAYS * 4),
    times: new SharedArrayBuffer(SETS * WAYS * 8),
    salt: randomBytes(16),
  };
}

/**
 * Rates of many clients in a table of fixed size (GCRA: one time for each client, which its use moves into the future).
 * A client whose time has passed is as one that never came, so that its place can be given away and nothing has to be
 * cleared. When all places of a set are in use, the client with the least debt loses its place, to its advantage.
 *
 * Own code: packages for this count in one thread, or over the network.
 */
export class RateTable {
  readonly #names: Int32Array;
  readonly #times: BigInt64Array;
  readonly #salt: Uint8Array;
  readonly #now: () => bigint;

  constructor({ names, times, salt }: RateMemory, now: () => bigint = () => process.hrtime.bigint()) {
    this.#names = new Int32Array(names);
    this.#times = new BigInt64Array(times);
    this.#salt = salt;
    this.#now = now;
  }

  /** The account of a client; to be kept while it is connected. */
  account(client: string): RateAccount {
    const hash = createHash('sha256').update(this.#salt).update(client).digest();
    // Zero is nobody's name.
    return new RateAccount(this, hash.readUInt16LE(0) % SETS, hash.readInt32LE(4) || 1);
  }

  /** Takes units from an account; else says for how many seconds it has to wait, and takes nothing. */
  take(set: number, name: number, units: number, { perSecond, burstSeconds }: Rate): number {
    const now = this.#now();
    const burst = BigInt(Math.round(burstSeconds * SECOND));
    const cost = BigInt(Math.round((units * SECOND) / perSecond));
    // What costs more than can be saved is served to who has saved all, and waited for afterwards.
    const excess = cost > burst ? cost - burst : 0n;
    const place = this.#placeOf(set, name, now);
    for (;;) {
      const before = Atomics.load(this.#times, place);
      const debt = before > now ? before - now : 0n;
      const late = debt + cost - excess - burst;
      if (late > 0n) return Number(late) / SECOND;
      if (Atomics.compareExchange(this.#times, place, before, now + debt + cost) === before) return 0;
    }
  }

  /** Takes units from an account whatever is left: for what was found to cost more. It is in debt for no longer than twice its burst. */
  charge(set: number, name: number, units: number, { perSecond, burstSeconds }: Rate): void {
    const now = this.#now();
    const most = now + BigInt(Math.round(2 * burstSeconds * SECOND));
    const cost = BigInt(Math.round((units * SECOND) / perSecond));
    const place = this.#placeOf(set, name, now);
    for (;;) {
      const before = Atomics.load(this.#times, place);
      const debt = before > now ? before - now : 0n;
      if (now + debt >= most) return;
      let after = now + debt + cost;
      if (after > most) after = most;
      if (Atomics.compareExchange(this.#times, place, before, after) === before) return;
    }
  }

  #placeOf(set: number, name: number, now: bigint): number {
    const first = set * WAYS;
    let least = first;
    let leastTime: bigint | undefined;
    for (let place = first; place < first + WAYS; place++) {
      if (Atomics.load(this.#names, place) === name) return place;
      const time = Atomics.load(this.#times, place);
      if (leastTime === undefined || time < leastTime) [least, leastTime] = [place, time];
    }
    // Two threads may do this at once: then one of the two clients waits for the other's use, once.
    Atomics.store(this.#times, least, now);
    Atomics.store(this.#names, least, name);
    return least;
  }
}

/** What one client uses. */
export class RateAccount {
  readonly #table: RateTable;
  readonly #set: number;
  readonly #name: number;

  constructor(table: RateTable, set: number, name: number) {
    this.#table = table;
    this.#set = set;
    this.#name = name;
  }

  /** Takes units; else says for how many seconds the client has to wait, and takes nothing. */
  take(units: number, rate: Rate): number {
    return this.#table.take(this.#set, this.#name, units, rate);
  }

  /** Takes units whatever is left. */
  charge(units: number, rate: Rate): void {
    this.#table.charge(this.#set, this.#name, units, rate);
  }
}
