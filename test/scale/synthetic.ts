import type { Log } from '../../src/chain/log.ts';
import type { Outcome } from '../../src/chain/outcome.ts';
import type { Receipt } from '../../src/chain/receipt.ts';
import { toHex } from '../../src/primitives/hex.ts';
import { createRandom } from '../support/store/contract-chain.ts';

export interface SyntheticOptions {
  readonly seed: number;
  readonly blocks: number;
  readonly logsPerBlock: number;
  /** Values of topic 1 to look for later, and the blocks each occurs in. */
  readonly planted: readonly { readonly topic: Uint8Array; readonly blocks: readonly number[] }[];
}

const logsPerTransaction = 3;
const holders = 500_000;
const contracts = 5_000;
const noBloom = new Uint8Array(256);
const filler = Buffer.alloc(40, 0xab);

export const transferTopic = Buffer.alloc(32, 0xdd);
/** Emits in every block, a fifth of all logs and every planted one. */
export const hotAddress = Buffer.alloc(20, 0x77);

/** A 32-byte value that is no padded address. */
export function plantedTopic(index: number): Uint8Array {
  const topic = Buffer.alloc(32, 0xee);
  topic.writeUInt32BE(index, 28);
  return topic;
}

/** Makes the chain block by block: token transfers between many holders, other events, and the planted logs. */
export function* syntheticChain(options: SyntheticOptions): Generator<Outcome> {
  const random = createRandom(options.seed);
  const plants = new Map<number, Uint8Array[]>();
  for (const { topic, blocks } of options.planted) {
    for (const block of blocks) plants.set(block, [...(plants.get(block) ?? []), topic]);
  }
  const contractPool = Array.from({ length: contracts }, () => randomBytes(random, 20));
  const eventPool = Array.from({ length: 200 }, () => randomBytes(random, 32));
  // Half of all transfers touch one of few busy holders, the rest are spread.
  const holder = (): Uint8Array => {
    const topic = Buffer.alloc(32);
    topic.writeUInt32BE(Math.imul(1 + random(random(2) === 0 ? 500 : holders), 0x9e3779b1) >>> 0, 12);
    topic.writeUInt32BE(0xc0ffee, 28);
    return topic;
  };
  const makeLog = (transactionIndex: number, index: number): Log => {
    const hot = index % 5 === 0;
    const transfer = hot || random(2) === 0;
    const data = Buffer.alloc(32);
    data.writeUIntBE(random(2 ** 31) * 1000, 24, 6);
    return {
      transactionIndex,
      address: hot ? hotAddress : (contractPool[random(contracts)] ?? hotAddress),
      topics: transfer
        ? [transferTopic, holder(), holder()]
        : [eventPool[random(200)] ?? transferTopic, holder()],
      data: transfer ? data : Buffer.concat([data, data, randomBytes(random, 32)]),
    };
  };
  let parentHash = toHex(new Uint8Array(32));
  for (let number = 0; number < options.blocks; number++) {
    const logs: Log[] = [];
    const extra = plants.get(number) ?? [];
    for (let index = 0; index < options.logsPerBlock; index++) {
      const transactionIndex = Math.floor(index / logsPerTransaction);
      const planted = extra[index];
      logs.push(
        planted === undefined
          ? makeLog(transactionIndex, index)
          : {
              transactionIndex,
              address: hotAddress,
              topics: [transferTopic, planted, holder()],
              data: filler,
            },
      );
    }
    const hashBytes = Buffer.from(randomBytes(random, 32));
    hashBytes.writeUInt32BE(number);
    const hash = toHex(hashBytes);
    yield {
      number,
      hash,
      parentHash,
      timestamp: 1_700_000_000 + number * 2,
      header: filler,
      block: filler,
      receipts: makeReceipts(random, logs),
      logs,
      diff: { wiped: [], accounts: [], slots: [], codes: [] },
      diffBytes: filler,
    };
    parentHash = hash;
  }
}

function makeReceipts(random: (below: number) => number, logs: readonly Log[]): Receipt[] {
  const count = (logs.at(-1)?.transactionIndex ?? -1) + 1;
  return Array.from({ length: count }, (_, index) => ({
    transactionHash: randomBytes(random, 32),
    type: 2,
    from: hotAddress,
    to: hotAddress,
    contractAddress: undefined,
    status: 1,
    root: undefined,
    gasUsed: 50_000,
    cumulativeGasUsed: 50_000 * (index + 1),
    effectiveGasPrice: 1_000_000n,
    bloom: noBloom,
    logCount: logs.filter((log) => log.transactionIndex === index).length,
    extras: [],
  }));
}

function randomBytes(random: (below: number) => number, length: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; at += 4) bytes.writeUInt32BE(random(2 ** 32), Math.min(at, length - 4));
  return bytes;
}
