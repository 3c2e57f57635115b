import { createHash } from 'node:crypto';
import type { StateDiff } from '../../../src/chain/diff.ts';
import { encodeDiff } from '../../../src/chain/diff-codec.ts';
import type { Log } from '../../../src/chain/log.ts';
import type { BlockRef, Outcome } from '../../../src/chain/outcome.ts';
import type { Receipt } from '../../../src/chain/receipt.ts';
import { fromHex, type Hex, toHex } from '../../../src/primitives/hex.ts';

/** Bytes of a small number, for values that a failing test can print. */
export function word(value: number, length = 32): Uint8Array {
  const bytes = Buffer.alloc(length);
  bytes.writeUInt32BE(value, length - 4);
  return bytes;
}

/** The address with a small number. */
export function address(value: number): Uint8Array {
  return word(value, 20);
}

/** A topic that is no padded address. */
export function topic(value: number): Uint8Array {
  return createHash('sha256').update(`topic ${value}`).digest();
}

export const emptyDiff: StateDiff = { wiped: [], accounts: [], slots: [], codes: [] };

/** What a made-up block holds; all else is derived from it and from the parent. */
export interface BlockContent {
  readonly diff?: Partial<StateDiff>;
  readonly logs?: readonly Log[];
  /** Makes another block of the same content. */
  readonly salt?: string;
}

/** A block that follows `parent`: opaque bytes where the store does not look. */
export function makeOutcome(
  parent: { number: number; hash: Hex } | undefined,
  content: BlockContent = {},
): Outcome {
  const number = parent === undefined ? 0 : parent.number + 1;
  const parentHash = parent?.hash ?? toHex(new Uint8Array(32));
  const hash = toHex(digest(`${parentHash} ${number} ${content.salt ?? ''}`));
  const logs = content.logs ?? [];
  const diff = { ...emptyDiff, ...content.diff };
  const last = logs.at(-1);
  const receipts = Array.from({ length: last === undefined ? 1 : last.transactionIndex + 1 }, (_, index) =>
    makeReceipt(hash, index, logs.filter((log) => log.transactionIndex === index).length),
  );
  return {
    number,
    hash,
    parentHash,
    timestamp: 1_700_000_000 + number * 2,
    header: digest(`header ${hash}`),
    block: Buffer.concat([digest(`block ${hash}`), fromHex(hash)]),
    receipts,
    logs,
    diff,
    diffBytes: encodeDiff(diff),
  };
}

/** Blocks that follow each other, starting after `parent`. */
export function makeChain(
  parent: { number: number; hash: Hex } | undefined,
  contents: readonly BlockContent[],
): Outcome[] {
  const chain: Outcome[] = [];
  for (const content of contents) chain.push(makeOutcome(chain.at(-1) ?? parent, content));
  return chain;
}

function makeReceipt(hash: Hex, index: number, logCount: number): Receipt {
  const bloom = new Uint8Array(256);
  bloom[index % 256] = logCount % 256;
  return {
    transactionHash: digest(`transaction ${hash} ${index}`),
    type: 2,
    from: address(index),
    to: index % 2 === 0 ? address(index + 1) : undefined,
    contractAddress: index % 2 === 0 ? undefined : address(index + 2),
    status: index % 3 === 0 ? 0 : 1,
    root: undefined,
    gasUsed: 21_000 + index,
    cumulativeGasUsed: 21_000 * (index + 1) + (index * (index + 1)) / 2,
    effectiveGasPrice: 10n ** 9n + BigInt(index),
    bloom,
    logCount,
    extras: index === 0 ? [['l1Fee', 12_345n]] : [],
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** A block's number and hash alone, as marks have them. */
export function refOf({ number, hash }: BlockRef): BlockRef {
  return { number, hash };
}

/** A small seeded generator of numbers in [0, below). */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** One of a few codes with its hash. */
export function codeOf(value: number): readonly [hash: Uint8Array, code: Uint8Array] {
  return [topic(value), word(value)];
}

/** Random content over few keys, so that versions, wipes and matches pile up on each other. */
export function randomContent(random: (below: number) => number): BlockContent {
  const some = <T>(below: number, make: () => T): T[] => Array.from({ length: random(below) }, make);
  const value = (): Uint8Array => (random(4) === 0 ? new Uint8Array(0) : word(1 + random(1000)));
  const unique = <T extends readonly Uint8Array[]>(items: readonly T[], keys: number): T[] => [
    ...new Map(items.map((item) => [item.slice(0, keys).map(toHex).join(), item])).values(),
  ];
  const wiped = random(12) === 0 ? [address(random(6))] : [];
  const logCount = random(40) === 0 ? 300 : random(6);
  let transactionIndex = 0;
  return {
    salt: `${random(2 ** 31)}`,
    diff: {
      wiped,
      accounts: unique(
        some(4, () => [address(random(6)), value()] as const),
        1,
      ),
      slots: unique(
        some(5, () => [address(random(6)), word(random(4)), value()] as const),
        2,
      ),
      codes: random(3) === 0 ? [codeOf(random(8))] : [],
    },
    logs: Array.from({ length: logCount }, () => {
      transactionIndex += random(3) === 0 ? 1 : 0;
      return randomLog(random, transactionIndex);
    }),
  };
}

function randomLog(random: (below: number) => number, transactionIndex: number): Log {
  return {
    transactionIndex,
    // Most logs are of one hot address.
    address: address(random(3) === 0 ? random(20) : 7),
    topics: Array.from({ length: random(5) }, () => (random(2) === 0 ? topic(random(12)) : word(random(12)))),
    data: random(2) === 0 ? word(random(1000)) : Buffer.alloc(random(70), random(256)),
  };
}
