// The official chain in memory, for tests: every block executed once, and any state of it by looking through the diffs.
import { readFileSync } from 'node:fs';
import type { Outcome } from '../../../src/chain/outcome.ts';
import type { StateKey } from '../../../src/chain/state-key.ts';
import type { CallRequest, LoadContext, StateLoader } from '../../../src/executor/interface.ts';
import { NativeExecutor } from '../../../src/executor/native-executor.ts';
import { fromHex, type Hex } from '../../../src/primitives/hex.ts';
import type { Store } from '../../../src/store/interface.ts';
import { createMemoryStore } from '../../../src/store/memory/index.ts';
import { officialChain } from '../servers/paths.ts';

/** The last block of the official chain. */
export const HEAD = 54;
/** Stores what it is called with, and logs it: its code was in genesis. */
export const emitter: Hex = '0x7dcd17433742f4c0ca53122ab541d0ba67fc27df';
export const zeroSlot: Hex = `0x${'0'.repeat(64)}`;
/** A call of `emitter` that ends well. */
export const callEmitter: CallRequest = { to: emitter, gas: '0x989680', data: '0x01' };

/** Limits that hold all of the official chain. */
export const roomyOptions = {
  window: 256,
  entries: 100_000,
  codeBytes: 2 ** 24,
  historyBytes: 2 ** 24,
  poolThreads: 1,
  poolQueue: 16,
  maxBlockGas: 2 ** 40,
  blockTimeLimitMs: 30_000,
  callInlineSteps: 20_000,
  callTimeLimitMs: 5_000,
  simulateTimeLimitMs: 5_000,
};

/** A store that holds such a chain, and can take off any block of it. */
export async function storeOf(outcomes: readonly Outcome[]): Promise<Store> {
  const store = createMemoryStore({ undoWindow: outcomes.length });
  await store.append(outcomes);
  return store;
}

/** The genesis file's text and its `config` object. */
export function officialGenesis(): { readonly text: string; readonly config: string } {
  const text = readFileSync(officialChain.genesis, 'utf8');
  return { text, config: JSON.stringify((JSON.parse(text) as { config: unknown }).config) };
}

/** The blocks of the file, each as RLP. */
export function officialBlocks(): Buffer[] {
  const file = readFileSync(officialChain.blocks);
  const blocks: Buffer[] = [];
  // Every block of this chain is a list with a length of two or three bytes.
  for (let at = 0; at < file.length; ) {
    const lengthBytes = (file[at] ?? 0) - 0xf7;
    const end = at + 1 + lengthBytes + file.readUIntBE(at + 1, lengthBytes);
    blocks.push(file.subarray(at, end));
    at = end;
  }
  return blocks;
}

/** Executes the chain from genesis; the outcome at index N is of block N. */
export async function executeOfficialChain(): Promise<readonly Outcome[]> {
  const { text, config } = officialGenesis();
  const outcomes: Outcome[] = [];
  const executor = NativeExecutor.create(config, roomyOptions, { load: loadFrom(outcomes) });
  outcomes.push(executor.startAtGenesis(text));
  for (const block of officialBlocks()) outcomes.push(await executor.execute(block));
  return outcomes;
}

/** Hot state of the last `window` blocks, of which nothing is in memory but what they wrote. */
export function restoreLast(
  outcomes: readonly Outcome[],
  load: StateLoader,
  options: Partial<typeof roomyOptions> = {},
): NativeExecutor {
  const limits = { ...roomyOptions, window: 10, ...options };
  const executor = NativeExecutor.create(officialGenesis().config, limits, { load });
  const [first, ...rest] = outcomes.slice(-limits.window);
  if (first === undefined) throw new Error('there are no blocks');
  executor.open(first.header);
  for (const { header, diffBytes } of rest) executor.apply(header, diffBytes);
  return executor;
}

/** A request of a client that goes away when the signal aborts. */
export function asClient(signal: AbortSignal, client = 'test'): LoadContext {
  return { client, signal };
}

/** A call of code that it brings along. */
export function runCode(code: Hex): CallRequest {
  const to: Hex = `0x${'aa'.padStart(40, '0')}`;
  return { to, gas: '0x2faf080', stateOverrides: { [to]: { code } } };
}

/** Reads the slots `count` down to 1. */
export function readSlots(count: number): CallRequest {
  // PUSH3 count; JUMPDEST; DUP1 SLOAD POP; PUSH1 1 SWAP1 SUB; DUP1 PUSH1 4 JUMPI; STOP
  return runCode(`0x62${count.toString(16).padStart(6, '0')}5b805450600190038060045700`);
}

/** Loads state from outcomes, beginning with genesis, by looking through them backwards. */
export function loadFrom(outcomes: readonly Outcome[]): StateLoader {
  return (keys, number) => keys.map((key) => valueAt(outcomes.slice(0, number + 1).reverse(), key));
}

function valueAt(newestFirst: readonly Outcome[], key: StateKey): Uint8Array {
  for (const { number, hash, diff } of newestFirst) {
    if (key.kind === 'blockHash' && number === key.number) return fromHex(hash);
    if (key.kind === 'account') {
      const found = diff.accounts.find(([address]) => same(address, key.address));
      if (found !== undefined) return found[1];
    }
    if (key.kind === 'slot') {
      const found = diff.slots.find(([address, slot]) => same(address, key.address) && same(slot, key.slot));
      if (found !== undefined) return found[2];
      if (diff.wiped.some((address) => same(address, key.address))) break;
    }
    if (key.kind === 'code') {
      const found = diff.codes.find(([codeHash]) => same(codeHash, key.hash));
      if (found !== undefined) return found[1];
    }
  }
  return new Uint8Array(0);
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
