import { hash } from 'node:crypto';
import type { Log } from '../../src/chain/log.ts';
import type { Outcome } from '../../src/chain/outcome.ts';
import type { Receipt } from '../../src/chain/receipt.ts';
import type { SlotKey } from '../../src/chain/state-key.ts';
import { type Hex, toHex } from '../../src/primitives/hex.ts';

/** Matches of each planted topic, however long the chain is. */
export const MATCHES = 100;
/** Planted topics, in other blocks each. */
export const PLANTS = 20;
const TRANSACTIONS = 2;
const CONTRACTS = 20;
const EVENTS = 10;
const HOLDERS = 5_000;
/** Slots that are written again and again, in turn: each block writes one of them. */
const WARM_SLOTS = 1_000;
/** A header and a block, which nothing here reads. */
const STUB_BYTES = 40;

/** Emits in every block. */
export const hotAddress = named('hot', 20);
const transferTopic = named('transfer', 32);
const contracts = Array.from({ length: CONTRACTS }, (_, at) => named(`contract ${at}`, 20));
const events = Array.from({ length: EVENTS }, (_, at) => named(`event ${at}`, 32));

/** A topic that `MATCHES` blocks have, spread over the whole chain. */
export function plantedTopic(plant: number): Uint8Array {
  return named(`plant ${plant}`, 32);
}

/** A slot that every block writes. */
export const hotSlot: SlotKey = { kind: 'slot', address: hotAddress, slot: named('hot slot', 32) };

/** A slot that one block in a thousand writes. */
export function warmSlot(at: number): SlotKey {
  return { kind: 'slot', address: hotAddress, slot: named(`warm ${at % WARM_SLOTS}`, 32) };
}

/** A slot that one block wrote and no other. */
export function coldSlot(number: number): SlotKey {
  return { kind: 'slot', address: contractOf(number), slot: named(`cold ${number}`, 32) };
}

/** The hash of a transaction. */
export function transactionHash(number: number, index: number): Uint8Array {
  return named(`transaction ${number} ${index}`, 32);
}

/** The hash of a block. */
export function hashOf(number: number): Hex {
  return toHex(named(`block ${number}`, 32));
}

/** Which planted topic a block has, if it has one. */
export function plantOf(number: number, blocks: number): number | undefined {
  const step = blocks / MATCHES;
  // Not at the same place of each step: rows of the index have a fixed number of blocks.
  const plant = (number % step) - (Math.floor(number / step) % (step - PLANTS));
  return plant >= 0 && plant < PLANTS ? plant : undefined;
}

/**
 * A block of a made-up chain of so many: two transactions, three logs, six state writes. All of it follows from its number, so that
 * nothing of a long chain needs to be kept to ask for it.
 */
export function blockOf(number: number, blocks: number): Outcome {
  const plant = plantOf(number, blocks);
  const contract = contractOf(number);
  const logs: Log[] = [
    log(0, hotAddress, [transferTopic, plant === undefined ? holder(number) : plantedTopic(plant)]),
    log(0, contract, [events[number % EVENTS] ?? transferTopic]),
    log(1, contract, [transferTopic]),
  ];
  const value = Buffer.alloc(8);
  value.writeUInt32BE(number + 1, 4);
  const slots = [hotSlot, warmSlot(number), coldSlot(number)];
  return {
    number,
    hash: hashOf(number),
    parentHash: hashOf(number - 1),
    timestamp: 1_700_000_000 + number,
    header: Buffer.alloc(STUB_BYTES, number),
    block: Buffer.alloc(STUB_BYTES, number),
    receipts: Array.from({ length: TRANSACTIONS }, (_, index) => receipt(number, index)),
    logs,
    diff: {
      wiped: [],
      accounts: [contract, named(`account ${number % HOLDERS}`, 20), named(`new account ${number}`, 20)].map(
        (address) => [address, value],
      ),
      slots: slots.map(({ address, slot }) => [address, slot, value]),
      codes: [],
    },
    diffBytes: new Uint8Array(0),
  };
}

function receipt(number: number, index: number): Receipt {
  return {
    transactionHash: transactionHash(number, index),
    type: 2,
    from: named(`account ${number % HOLDERS}`, 20),
    to: contractOf(number),
    contractAddress: undefined,
    status: 1,
    root: undefined,
    gasUsed: 50_000,
    cumulativeGasUsed: 50_000 * (index + 1),
    effectiveGasPrice: 1_000_000n,
    bloom: new Uint8Array(256),
    logCount: index === 0 ? 2 : 1,
    extras: [],
  };
}

function log(transactionIndex: number, address: Uint8Array, topics: readonly Uint8Array[]): Log {
  return { transactionIndex, address, topics, data: Buffer.alloc(32, transactionIndex) };
}

function contractOf(number: number): Uint8Array {
  return contracts[number % CONTRACTS] ?? hotAddress;
}

function holder(number: number): Uint8Array {
  return named(`holder ${(number * 7_919) % HOLDERS}`, 32);
}

/** Bytes that follow from a name. */
function named(name: string, length: number): Uint8Array {
  return hash('sha256', name, 'buffer').subarray(0, length);
}
