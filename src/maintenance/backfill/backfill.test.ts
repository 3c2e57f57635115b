import { beforeAll, describe, expect, it } from 'vitest';
import { quietModules } from '../../../test/support/follow/imported-chain.ts';
import { nativeError } from '../../../test/support/native-error.ts';
import { executeOfficialChain } from '../../../test/support/serve/executor.ts';
import { emptyDiff } from '../../../test/support/store/contract-chain.ts';
import type { BlockRef, Outcome } from '../../chain/outcome.ts';
import { InvalidBlockError } from '../../executor/errors.ts';
import { parentHashOf } from '../../follow/blocks/header-links.ts';
import type { Hex } from '../../primitives/hex.ts';
import { SourceError } from '../../source/errors.ts';
import type { JsonObject, Lie, UpstreamAnswer } from '../../source/interface.ts';
import type { Marks, Store } from '../../store/interface.ts';
import { createMemoryStore } from '../../store/memory/index.ts';
import { type BackfillLimits, type BackfillModules, fetchDownwards, rangeBelow } from './backfill.ts';

const ANCHOR = 30;
const LIMITS: BackfillLimits = { backfillInFlight: 4, backfillBatch: 5, backfillPatienceMs: 60_000 };

let outcomes: readonly Outcome[];
beforeAll(async () => {
  outcomes = await executeOfficialChain();
});

function outcome(number: number): Outcome {
  const found = outcomes[number];
  if (found === undefined) throw new Error(`there is no block ${number}`);
  return found;
}

/** A store that began at the anchor. */
async function begun(): Promise<Store> {
  const store = createMemoryStore();
  await store.append([{ ...outcome(ANCHOR), diff: emptyDiff }], { partial: true });
  return store;
}

type Said = UpstreamAnswer<JsonObject> | undefined;

/** Upstreams that know the official chain, and stand-ins for the native core that take their word for it. */
class Chain {
  readonly reports: { readonly upstream: string; readonly lie: Lie }[] = [];
  readonly asked: (number | Hex)[] = [];
  inFlight = 0;
  mostInFlight = 0;
  byNumber = async (number: number): Promise<Said> => this.say(outcome(number));
  byHash = async (hash: Hex): Promise<Said> => this.say(this.find(hash));

  find(hash: Hex): Outcome {
    const found = outcomes.find((candidate) => candidate.hash === hash);
    if (found === undefined) throw new Error(`there is no block ${hash}`);
    return found;
  }

  say({ number, hash, parentHash }: Outcome, upstream = 'first'): UpstreamAnswer<JsonObject> {
    return { value: { number: `0x${number.toString(16)}`, hash, parentHash }, upstream };
  }

  async #count<T>(work: Promise<T>): Promise<T> {
    this.inFlight++;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    try {
      return await work;
    } finally {
      this.inFlight--;
    }
  }

  modules(store: Store, changes: Partial<BackfillModules> = {}): BackfillModules {
    return {
      ...quietModules(),
      store,
      source: {
        blockByNumber: (number) => {
          this.asked.push(number);
          return this.#count(this.byNumber(number));
        },
        blockByHash: (hash) => {
          this.asked.push(hash);
          return this.#count(this.byHash(hash));
        },
        receipts: async (hash) => ({ value: [{ blockHash: hash }], upstream: 'first' }),
        report: (upstream, lie) => this.reports.push({ upstream, lie }),
      },
      executor: {
        blockFromJson: (json) => {
          const { hash, invalid } = json as { hash: Hex; invalid?: string };
          if (invalid === 'unsupported')
            throw nativeError('unsupported', 'block 17 0x has uncles, which are not read');
          if (invalid !== undefined) throw new InvalidBlockError(invalid);
          return this.find(hash).block;
        },
        outcomeFromJson: (_, [receipt]) => this.find((receipt as { blockHash: Hex }).blockHash),
      },
      ...changes,
    };
  }
}

async function lowestOf(store: Store): Promise<BlockRef | undefined> {
  return (await store.marks())?.lowest;
}

function ref({ number, hash }: Outcome): BlockRef {
  return { number, hash };
}

const range = (from: number) => ({ from, to: ANCHOR - 1, lowest: ref(outcome(ANCHOR)) });

describe('backfill', () => {
  it('adds every block down to the first, few at a time, and reports its progress', async () => {
    const store = await begun();
    const chain = new Chain();
    const progress: number[] = [];
    const result = await fetchDownwards(
      range(0),
      LIMITS,
      chain.modules(store, { onProgress: (done) => progress.push(done) }),
    );
    const logs = outcomes.slice(0, ANCHOR).reduce((sum, block) => sum + block.logs.length, 0);
    expect(result).toEqual({ blocks: ANCHOR, logs, lowest: ref(outcome(0)) });
    expect(await lowestOf(store)).toEqual(ref(outcome(0)));
    expect(progress).toEqual([0, 5, 10, 15, 20, 25, 30, 30]);
    expect(chain.mostInFlight).toBeLessThanOrEqual(LIMITS.backfillInFlight);
    expect(chain.asked).toEqual(Array.from({ length: ANCHOR }, (_, index) => ANCHOR - 1 - index));
  });

  it('asks by hash for a block that does not link, and reports who lied about its number', async () => {
    const store = await begun();
    const chain = new Chain();
    chain.byNumber = async (number) =>
      number === 20 ? { ...chain.say(outcome(19), 'liar') } : chain.say(outcome(number));
    await fetchDownwards(range(10), LIMITS, chain.modules(store));
    expect(await lowestOf(store)).toEqual(ref(outcome(10)));
    expect(chain.asked).toContain(outcome(20).hash);
    expect(chain.reports).toEqual([
      { upstream: 'liar', lie: { item: outcome(20).hash, what: 'hash of block 20' } },
    ]);
  });

  it('blames nobody whose own fork has moved on', async () => {
    const store = await begun();
    const chain = new Chain();
    chain.byNumber = async (number) => chain.say(outcome(number === 20 ? 19 : number));
    await fetchDownwards(range(10), LIMITS, chain.modules(store));
    expect(chain.reports).toEqual([]);
  });

  it('reports a block that does not fit its hash, and takes it from another', async () => {
    const store = await begun();
    const chain = new Chain();
    chain.byNumber = async (number) => {
      const honest = chain.say(outcome(number), 'second');
      const lied = number === 20 && chain.reports.length === 0;
      return lied
        ? { upstream: 'liar', value: { ...honest.value, invalid: 'transactions: wrong root' } }
        : honest;
    };
    await fetchDownwards(range(0), LIMITS, chain.modules(store));
    expect(chain.reports).toEqual([
      { upstream: 'liar', lie: { item: '0x14', what: 'transactions: wrong root' } },
    ]);
    expect(await lowestOf(store)).toEqual(ref(outcome(0)));
  });

  it('keeps what it has when nobody has the next block, and says what to do', async () => {
    const store = await begun();
    const chain = new Chain();
    chain.byNumber = async (number) => (number < 22 ? undefined : chain.say(outcome(number)));
    chain.byHash = async () => undefined;
    const working = fetchDownwards(range(0), LIMITS, chain.modules(store));
    await expect(working).rejects.toThrow(`no upstream has block 21 ${outcome(21).hash}`);
    await expect(working).rejects.toThrow('name an upstream of the same chain that keeps blocks this old');
    expect(await lowestOf(store)).toEqual(ref(outcome(22)));
  });

  it('says where history ends that cannot be read', async () => {
    const store = await begun();
    const chain = new Chain();
    chain.byNumber = async (number) => {
      const said = chain.say(outcome(number));
      return number === 17 ? { ...said, value: { ...said.value, invalid: 'unsupported' } } : said;
    };
    const working = fetchDownwards(range(0), LIMITS, chain.modules(store));
    await expect(working).rejects.toThrow(
      'history ends here: block 17 0x has uncles, which are not read. What is above is kept; ' +
        'end with --from 18 to stop before it',
    );
    expect(await lowestOf(store)).toEqual(ref(outcome(18)));
  });

  it('goes on after upstreams were away, and gives up when its patience ends', async () => {
    const store = await begun();
    const chain = new Chain();
    let away = 2;
    chain.byNumber = async (number) => {
      if (number === 25 && away-- > 0) throw new SourceError({ code: 'unreachable' }, 'nobody answers');
      return chain.say(outcome(number));
    };
    await fetchDownwards(range(20), LIMITS, chain.modules(store));
    expect(await lowestOf(store)).toEqual(ref(outcome(20)));

    chain.byNumber = () => Promise.reject(new SourceError({ code: 'unreachable' }, 'nobody answers'));
    const from = { from: 0, to: 19, lowest: ref(outcome(20)) };
    const impatient = { ...LIMITS, backfillPatienceMs: 1 };
    await expect(fetchDownwards(from, impatient, chain.modules(store))).rejects.toThrow('nobody answers');
  });

  it('stops when it is told to, keeps what is linked, and goes on from there', async () => {
    const store = await begun();
    const chain = new Chain();
    const stop = new AbortController();
    const onProgress = (done: number): void => {
      if (done >= 10) stop.abort(new Error('stopped'));
    };
    const modules = chain.modules(store, { signal: stop.signal, onProgress });
    const first = await fetchDownwards(range(0), LIMITS, modules);
    expect(first.blocks).toBe(10);
    expect(await lowestOf(store)).toEqual(first.lowest);
    const rest = { from: 0, to: first.lowest.number - 1, lowest: first.lowest };
    expect(await fetchDownwards(rest, LIMITS, chain.modules(store))).toMatchObject({ blocks: 20 });
    expect(await lowestOf(store)).toEqual(ref(outcome(0)));
  });

  it('says so when somebody else moves the lowest block', async () => {
    const store = await begun();
    const chain = new Chain();
    let once = true;
    const onProgress = (): void => {
      if (once) void store.prepend(outcomes.slice(28, ANCHOR));
      once = false;
    };
    const working = fetchDownwards(range(0), LIMITS, chain.modules(store, { onProgress }));
    await expect(working).rejects.toThrow(
      'the lowest block is 28 by now: another backfill works on this store',
    );
  });
});

describe('what is left to backfill', () => {
  const at = (number: number): BlockRef => ({ number, hash: `0x${'0'.repeat(64)}` });
  const marks: Marks = { lowest: at(50), anchor: at(60), head: at(90), safe: at(60), finalized: at(60) };
  const of = (from: number, to?: number) => rangeBelow(marks, { from, to });

  it('begins below what is held, also when a part of it is held already', () => {
    expect(of(0)).toEqual({ from: 0, to: 49, lowest: at(50) });
    expect(of(10, 49)).toEqual({ from: 10, to: 49, lowest: at(50) });
    expect(of(10, 70)).toEqual({ from: 10, to: 49, lowest: at(50) });
  });

  it('is nothing when all is held', () => {
    expect(of(50)).toBeUndefined();
    expect(of(60, 80)).toBeUndefined();
  });

  it('refuses a gap, and says how to avoid it', () => {
    expect(() => of(0, 30)).toThrow(
      '--to 30 would leave a gap: blocks 31 to 49 are not held either, and history grows downwards from block 50. ' +
        'Leave --to out, or give --to 49',
    );
  });

  it('refuses what makes no sense', () => {
    expect(() => of(60, 55)).toThrow('--from 60 is above --to 55');
    expect(() => of(0, 91)).toThrow('block 91 is above the head 90');
    expect(() => of(91)).toThrow('block 91 is above the head 90');
  });
});

it('reads the hash of the parent from a header', () => {
  for (const { header, parentHash } of outcomes) expect(parentHashOf(header)).toBe(parentHash);
  expect(() => parentHashOf(new Uint8Array(4))).toThrow('not a block header');
});
