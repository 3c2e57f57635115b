import type { StateDiff } from '../../src/chain/diff.ts';
import type { Log } from '../../src/chain/log.ts';
import type { Outcome } from '../../src/chain/outcome.ts';
import type { Receipt } from '../../src/chain/receipt.ts';
import { type Hex, toHex } from '../../src/primitives/hex.ts';
import { createRandom } from '../../test/support/store/contract-chain.ts';

/** Emits in every block. */
export const hotAddress = Buffer.alloc(20, 0x77);
export const transferTopic = Buffer.alloc(32, 0xdd);

/** A topic that occurs once in each of `MATCHES` blocks. */
export function plantedTopic(plant: number): Buffer {
  const topic = Buffer.alloc(32, 0xee);
  topic.writeUInt32BE(plant, 28);
  return topic;
}

export const MATCHES = 100;

/** A block of Base's size with a block every 200 ms. */
const STATE_WRITES = 500;
const LOGS = 300;
const TRANSACTIONS = 60;
/** Of the state writes of a block, one in five is of an account. Two in five are of keys that many blocks write. */
const ACCOUNTS = 100;
const HOT_KEYS = 2_000;
const HOT_WRITES = 200;
const CONTRACTS = 5_000;
const EVENTS = 200;
const HOLDERS = 500_000;
const BUSY_HOLDERS = 500;
/** A transaction as it is stored, and a header. */
const TRANSACTION_BYTES = 250;
const HEADER_BYTES = 600;
const THIN_LOGS = 4;

type Random = (below: number) => number;

/** The made-up chain: thin blocks, a thousand of which are full of logs and have a planted one, then full blocks. */
export class Content {
  readonly thin: number;
  readonly plants: number;
  readonly #random: Random;
  readonly #contracts: readonly Uint8Array[];
  readonly #events: readonly Uint8Array[];
  readonly #hotKeys: readonly (readonly [Uint8Array, Uint8Array])[];
  #parentHash: Hex = toHex(new Uint8Array(32));

  constructor(seed: number, thin: number, plants: number) {
    this.#random = createRandom(seed);
    this.thin = thin;
    this.plants = plants;
    this.#contracts = Array.from({ length: CONTRACTS }, () => this.#bytes(20));
    this.#events = Array.from({ length: EVENTS }, () => this.#bytes(32));
    this.#hotKeys = Array.from({ length: HOT_KEYS }, () => [this.#contract(), this.#bytes(32)] as const);
  }

  /** The blocks that a planted topic is in, as far apart as they can be. */
  blocksOf(plant: number): readonly number[] {
    const step = Math.floor(this.thin / MATCHES);
    return Array.from({ length: MATCHES }, (_, at) => at * step + plant);
  }

  *thinBlocks(): Generator<Outcome> {
    const planted = new Map<number, number>();
    for (let plant = 0; plant < this.plants; plant++)
      for (const number of this.blocksOf(plant)) planted.set(number, plant);
    for (let number = 0; number < this.thin; number++) {
      const plant = planted.get(number);
      const logs =
        plant === undefined
          ? Array.from({ length: THIN_LOGS }, (_, at) => this.#hotLog(at, []))
          : [...this.#logs(LOGS - 1), this.#hotLog(TRANSACTIONS - 1, [plantedTopic(plant)])];
      yield this.#block(number, logs, { wiped: [], accounts: [], slots: [], codes: [] });
    }
  }

  *fullBlocks(count: number): Generator<Outcome> {
    for (let number = this.thin; number < this.thin + count; number++)
      yield this.#block(number, this.#logs(LOGS), this.#diff());
  }

  #block(number: number, logs: readonly Log[], diff: StateDiff): Outcome {
    const hash = Buffer.from(this.#bytes(32));
    const receipts = this.#receipts(logs);
    const outcome: Outcome = {
      number,
      hash: toHex(hash),
      parentHash: this.#parentHash,
      timestamp: 1_700_000_000 + Math.floor(number / 5),
      header: this.#bytes(diff.slots.length === 0 ? 40 : HEADER_BYTES),
      block: diff.slots.length === 0 ? this.#bytes(40) : this.#bytes(TRANSACTIONS * TRANSACTION_BYTES),
      receipts,
      logs,
      diff,
      diffBytes: Buffer.concat([...diff.accounts.flat(), ...diff.slots.flat()]),
    };
    this.#parentHash = outcome.hash;
    return outcome;
  }

  #diff(): StateDiff {
    const slots = new Map<string, readonly [Uint8Array, Uint8Array, Uint8Array]>();
    const add = ([address, slot]: readonly [Uint8Array, Uint8Array]): void => {
      slots.set(toHex(address) + toHex(slot), [address, slot, this.#value()]);
    };
    while (slots.size < HOT_WRITES) add(this.#hotKeys[this.#random(HOT_KEYS)] ?? [hotAddress, hotAddress]);
    while (slots.size < STATE_WRITES - ACCOUNTS) add([this.#contract(), this.#bytes(32)]);
    return {
      wiped: [],
      // A nonce, a balance, and for one in four the hash of its code.
      accounts: Array.from({ length: ACCOUNTS }, (_, at) => [
        this.#bytes(20),
        this.#bytes(at % 4 === 0 ? 44 : 12),
      ]),
      slots: [...slots.values()],
      codes: [],
    };
  }

  /** What slots hold without leading zeros: amounts, addresses, packed words. */
  #value(): Uint8Array {
    const kind = this.#random(4);
    return this.#bytes(kind === 0 ? 32 : kind === 1 ? 20 : 4 + this.#random(9));
  }

  #logs(count: number): Log[] {
    return Array.from({ length: count }, (_, at) => {
      const transaction = Math.floor((at * TRANSACTIONS) / LOGS);
      if (at % 5 === 0) return this.#hotLog(transaction, [this.#holder(), this.#holder()]);
      const transfer = this.#random(2) === 0;
      return {
        transactionIndex: transaction,
        address: this.#contract(),
        topics: transfer
          ? [transferTopic, this.#holder(), this.#holder()]
          : [this.#events[this.#random(EVENTS)] ?? transferTopic, this.#holder()],
        data: transfer ? this.#amount() : Buffer.concat([this.#amount(), this.#amount(), this.#bytes(32)]),
      };
    });
  }

  #hotLog(transactionIndex: number, topics: readonly Uint8Array[]): Log {
    return {
      transactionIndex,
      address: hotAddress,
      topics: [transferTopic, ...topics],
      data: this.#amount(),
    };
  }

  /** A padded address; half of all are of few that are busy. */
  #holder(): Uint8Array {
    const topic = Buffer.alloc(32);
    const holder = 1 + this.#random(this.#random(2) === 0 ? BUSY_HOLDERS : HOLDERS);
    for (let at = 12; at < 32; at += 4) topic.writeUInt32BE(Math.imul(holder + at, 0x9e3779b1) >>> 0, at);
    return topic;
  }

  #amount(): Buffer {
    const data = Buffer.alloc(32);
    data.writeUIntBE(this.#random(2 ** 31) * 1_000, 24, 6);
    return data;
  }

  #receipts(logs: readonly Log[]): Receipt[] {
    const counts = new Map<number, number>();
    for (const { transactionIndex } of logs)
      counts.set(transactionIndex, (counts.get(transactionIndex) ?? 0) + 1);
    const transactions = (logs.at(-1)?.transactionIndex ?? -1) + 1;
    return Array.from({ length: transactions }, (_, index) => ({
      transactionHash: this.#bytes(32),
      type: 2,
      from: this.#bytes(20),
      to: this.#contract(),
      contractAddress: undefined,
      status: 1,
      root: undefined,
      gasUsed: 50_000 + index,
      cumulativeGasUsed: 50_000 * (index + 1),
      effectiveGasPrice: 1_000_000n,
      bloom: new Uint8Array(256),
      logCount: counts.get(index) ?? 0,
      extras: [],
    }));
  }

  #contract(): Uint8Array {
    return this.#contracts[this.#random(CONTRACTS)] ?? hotAddress;
  }

  #bytes(length: number): Uint8Array {
    const bytes = Buffer.allocUnsafe(length + 3);
    for (let at = 0; at < length; at += 4) bytes.writeUInt32BE(this.#random(2 ** 32), at);
    return bytes.subarray(0, length);
  }
}
