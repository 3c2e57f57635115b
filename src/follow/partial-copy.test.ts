// What makes a partial copy exact: from any anchor on, every key at every block is what the whole chain says.
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  executeOfficialChain,
  HEAD,
  loadFrom,
  officialGenesis,
  roomyOptions,
} from '../../test/support/serve/executor.ts';
import { emptyDiff } from '../../test/support/store/contract-chain.ts';
import type { BlockRef, Outcome } from '../chain/outcome.ts';
import { keyText, type StateKey } from '../chain/state-key.ts';
import { NativeExecutor } from '../executor/native-executor.ts';
import { BlockTime } from '../store/block-time.ts';
import type { Store } from '../store/interface.ts';
import { createMemoryStore } from '../store/memory/index.ts';
import type { ReadBlock } from './blocks/reader.ts';
import { ChainMover } from './mover.ts';
import { PinnedState } from './state/pinned-state.ts';
import type { StateReader } from './state/reader.ts';

/** The first block whose receipts hold no state roots, which a partial copy could not check. */
const BYZANTIUM = 9;
const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

let outcomes: readonly Outcome[];
let keys: readonly StateKey[];

beforeAll(async () => {
  outcomes = await executeOfficialChain();
  const all = outcomes.flatMap(({ diff }): StateKey[] => [
    ...diff.accounts.map(([address]): StateKey => ({ kind: 'account', address })),
    ...diff.slots.map(([address, slot]): StateKey => ({ kind: 'slot', address, slot })),
  ]);
  keys = [...new Map(all.map((key) => [keyText(key), key])).values()];
});

interface Copy {
  readonly store: Store;
  readonly state: PinnedState;
  readonly mover: ChainMover;
  /** Keys in the order in which they were read from upstream. */
  readonly reads: string[];
}

/** A copy that begins at a block of the official chain; its upstream is the whole chain, without faults. */
async function beginAt(anchor: number): Promise<Copy> {
  const store = createMemoryStore();
  const truth = loadFrom(outcomes);
  const reads: string[] = [];
  const read: StateReader = async (asked, at) => {
    reads.push(...asked.map(keyText));
    const values = await truth(asked, at.number, at);
    return Promise.all(
      asked.map(async (key, index) => {
        const value = key.kind === 'code' ? undefined : values[index];
        const hash = key.kind === 'account' && value?.length ? value.slice(-32) : undefined;
        const [bytes] = hash ? await truth([{ kind: 'code', hash }], HEAD, at) : [];
        return { value, upstream: 'whole chain', ...(hash && bytes?.length && { code: { hash, bytes } }) };
      }),
    );
  };
  const options = { maxPins: 1_000, pinDelayMs: 60_000, archiveCodeBytes: 1_024 };
  const onFault = (error: unknown): never => {
    throw error;
  };
  const state = new PinnedState(options, { store, read, onFault });
  const executor = NativeExecutor.create(officialGenesis().config, roomyOptions, {
    load: (...args) => state.load(...args),
  });
  const first = outcomeAt(anchor);
  await store.append([{ ...first, diff: emptyDiff, diffBytes: Buffer.alloc(16) }], { partial: true });
  executor.open(first.header);
  const blocks = {
    byNumber: async (number: number) => toRead(outcomeAt(number)),
    byHash: async (hash: string) =>
      toRead(outcomes.find((outcome) => outcome.hash === hash) ?? outcomeAt(-1)),
  };
  const mover = new ChainMover(
    { undoWindow: 'finalized', hotWindow: 256, catchUpBlocks: 4, verifyState: true },
    {
      store,
      executor,
      state,
      blocks: blocks as never,
      source: {
        prestate: async () => undefined,
        report: () => {},
        hashAt: async () => undefined,
        status: () => [],
        stateDiffs: () => Promise.reject(new Error('no state diff is needed')),
        state: () => Promise.reject(new Error('no state is needed')),
        proof: () => Promise.reject(new Error('no proof is needed')),
      },
      prove: () => Promise.resolve([]),
      blockTime: new BlockTime(store),
      publish: async () => {},
      observe: () => {},
    },
  );
  return { store, state, mover, reads };
}

function outcomeAt(number: number): Outcome {
  const outcome = outcomes[number];
  if (outcome === undefined) throw new Error(`no block ${number}`);
  return outcome;
}

async function moveTo(mover: ChainMover, { number, hash, parentHash }: Outcome): Promise<void> {
  const target = { head: { number, hash, parentHash, upstream: 'whole chain' }, mode: 'follow' } as const;
  const { signal } = new AbortController();
  while (!(await mover.moveTowards(target, signal)));
}

function toRead({ number, hash, parentHash, timestamp, block }: Outcome): ReadBlock {
  return { number, hash, parentHash, timestamp, rlp: block, upstream: 'whole chain' };
}

function refOf({ number, hash }: Outcome): BlockRef {
  return { number, hash };
}

describe(`a partial copy (TEST_SEED=${seed})`, () => {
  it('says of every key at every block what the whole chain says, and asks for each key once', {
    timeout: 60_000,
  }, async () => {
    const block = fc.integer({ min: BYZANTIUM, max: HEAD });
    await fc.assert(
      fc.asyncProperty(
        block,
        fc.array(fc.tuple(block, fc.nat()), { maxLength: 60 }),
        async (anchor, probes) => {
          const { store, state, mover, reads } = await beginAt(anchor);
          const truth = loadFrom(outcomes);
          const check = async (number: number, asked: readonly StateKey[]): Promise<void> => {
            const found = await state.load(asked, number, refOf(outcomeAt(number)));
            expect(found.map(text)).toEqual((await truth(asked, number, undefined)).map(text));
          };
          // Requests come while the copy grows, for blocks that it has by then.
          for (const [number, index] of probes) {
            const target = outcomeAt(Math.max(anchor, number));
            await moveTo(mover, target);
            const head = (await store.marks())?.head.number ?? anchor;
            const key = keys[index % keys.length];
            if (key !== undefined) await check(anchor + (index % (head - anchor + 1)), [key]);
          }
          await moveTo(mover, outcomeAt(HEAD));
          for (let number = anchor; number <= HEAD; number += 5) await check(number, keys);
          await check(HEAD, keys);
          await state.flush();
          const before = reads.length;
          // A block that comes before the answer to what was read ahead for it asks for that too.
          const needed = reads.filter((key) => !/f3df6d7|f90827f/.test(key));
          expect(new Set(needed).size).toBe(needed.length);
          expect(needed.length).toBeGreaterThan(before / 2);
          await check(anchor, keys);
          expect(reads.length).toBe(before);
        },
      ),
      { seed, numRuns: 12 },
    );
  });
});

function text(value: Uint8Array | undefined): string {
  return value === undefined ? 'unknown' : Buffer.from(value).toString('hex');
}
