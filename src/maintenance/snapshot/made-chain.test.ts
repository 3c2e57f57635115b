// Snapshots of made-up chains: wipes, pins, pruned starts, forks, and nodes that go on writing meanwhile.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  answersOf,
  exportMade,
  Parents,
  restoreMade,
  snapshotDir,
} from '../../../test/support/snapshot/made-chain.ts';
import {
  address,
  codeOf,
  createRandom,
  makeChain,
  randomContent,
  refOf,
  word,
} from '../../../test/support/store/contract-chain.ts';
import { plain } from '../../../test/support/store/contract-observe.ts';
import type { Outcome } from '../../chain/outcome.ts';
import type { Pin, Store } from '../../store/interface.ts';
import { openLmdbStore } from '../../store/lmdb/index.ts';
import { createMemoryStore } from '../../store/memory/index.ts';
import { historyOf } from './manifest.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
vi.setConfig({ testTimeout: 120_000 });

type Random = (below: number) => number;

/** A store in LMDB, and the made-up chain that it holds. */
class Source implements AsyncDisposable {
  readonly store: Store;
  readonly parents = new Parents();
  readonly #random: Random;
  readonly #path: string;
  #chain: readonly Outcome[] = [];

  private constructor(store: Store, path: string, random: Random) {
    this.store = store;
    this.#path = path;
    this.#random = random;
  }

  static async open(random: Random): Promise<Source> {
    const path = await mkdtemp(join(tmpdir(), 'chain-query-made-'));
    const store = await openLmdbStore({ path, undoWindow: 8, mapSizeBytes: 2 ** 30, unsafeNoSync: true });
    return new Source(store, path, random);
  }

  /** Begins above `below` blocks of history, with the whole state or none of it. */
  async begin(below: number, partial: boolean): Promise<void> {
    await this.store.setMeta('genesis', '{"config":{"chainId":1}}');
    const chain = makeChain(undefined, this.#contents(below + 1));
    this.#take(chain, 0);
    await this.store.append(chain.slice(below), { partial });
    if (below > 0) await this.store.prepend(chain.slice(Math.floor(below / 2), below));
  }

  /** Appends blocks, after taking off as many as are asked for and can be. */
  async grow(length: number, wanted = 0): Promise<void> {
    const head = this.#chain.length - 1;
    const floor = Math.max(
      (await this.store.undoFloor()) ?? head,
      (await this.store.marks())?.finalized?.number ?? 0,
    );
    const depth = Math.min(wanted, head - floor);
    const onto = head - depth;
    const grown = makeChain(this.#chain[onto], this.#contents(length));
    this.#take(grown, onto + 1);
    await this.store.append(grown, { pins: this.#pins(), ...(depth > 0 && { onto }) });
  }

  at(number: number): Outcome {
    return this.#chain[number] as Outcome;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
    await rm(this.#path, { recursive: true, force: true });
  }

  #take(blocks: readonly Outcome[], from: number): void {
    this.#chain = [...this.#chain.slice(0, from), ...blocks];
    this.parents.add(blocks);
  }

  #contents(length: number) {
    return Array.from({ length }, () => randomContent(this.#random));
  }

  #pins(): Pin[] {
    const random = this.#random;
    const value = (): Uint8Array => (random(3) === 0 ? new Uint8Array(0) : word(1 + random(1000)));
    const [hash, code] = codeOf(random(9));
    return [
      { key: { kind: 'account', address: address(random(6)) }, value: value() },
      { key: { kind: 'slot', address: address(random(6)), slot: word(random(5)) }, value: value() },
      { key: { kind: 'code', hash }, value: code },
      { key: { kind: 'blockHash', number: random(20) }, value: word(random(100)) },
    ];
  }
}

/** What a restored copy answers, in LMDB and, where that is asked for, in memory alike. */
async function restored(path: string, inMemory: boolean): Promise<unknown> {
  await using dir = await snapshotDir();
  const lmdb = await openLmdbStore({ path: dir.path, mapSizeBytes: 2 ** 30, unsafeNoSync: true });
  try {
    await restoreMade(path, lmdb);
    const answers = await answersOf(lmdb);
    if (inMemory) {
      const memory = createMemoryStore();
      await restoreMade(path, memory);
      expect(await answersOf(memory)).toEqual(answers);
    }
    return answers;
  } finally {
    await lmdb.close();
  }
}

describe(`a snapshot of a made-up chain (seed ${seed})`, () => {
  it.each([
    ['complete', 0, false],
    ['partial', 40, true],
    ['complete and above history', 30, false],
  ] as const)('answers as the copy, which is %s, however often it is taken', async (_, below, partial) => {
    const random = createRandom(seed);
    await using source = await Source.open(random);
    await using dir = await snapshotDir();
    await source.begin(below, partial);
    const steps = 5;
    for (let step = 0; step < steps; step++) {
      await source.grow(1 + random(step === 1 ? 300 : 30), random(3) === 0 ? random(4) : 0);
      const { store } = source;
      const head = (await store.marks())?.head.number ?? 0;
      if (step === 2) await store.mark({ finalized: refOf(source.at(head - 4)) });
      if (step === 3) while (await store.prune(head - 10 - random(100), 100));
      await exportMade(store, dir.path, source.parents);
      expect(await restored(dir.path, step === steps - 1)).toEqual(await answersOf(store));
    }
  });

  it('writes only what is new', async () => {
    await using source = await Source.open(createRandom(seed));
    await using dir = await snapshotDir();
    await source.begin(0, false);
    await source.grow(600);
    const first = await exportMade(source.store, dir.path, source.parents);
    await source.grow(300);
    const second = await exportMade(source.store, dir.path, source.parents);
    const ranges = historyOf(second.manifest);
    expect(ranges.map((segment) => [segment.first, segment.last])).toEqual([
      [0, 255],
      [256, 511],
      [512, 767],
      [768, 900],
    ]);
    expect(ranges.slice(0, 2)).toEqual(historyOf(first.manifest).slice(0, 2));
    // Two ranges, and the state as of the first block with code that came since.
    expect(second.written).toBeLessThanOrEqual(3);
    expect(await readdir(join(dir.path, 'segments'))).toHaveLength(second.manifest.segments.length);
  });

  it('is of one chain while a node goes on, takes blocks off and deletes old ones', async () => {
    const random = createRandom(seed);
    await using source = await Source.open(random);
    await using dir = await snapshotDir();
    await source.begin(0, false);
    await source.grow(400);
    for (let step = 0; step < 8; step++) {
      let left = 1 + random(3);
      const disturb = async (): Promise<void> => {
        if (left-- <= 0) return;
        await source.grow(1 + random(20), random(2) === 0 ? 1 + random(7) : 0);
        const marks = await source.store.marks();
        if (marks !== undefined && random(3) === 0)
          await source.store.prune(Math.min(marks.lowest.number + random(6), marks.head.number - 8), 50);
      };
      const watched = disturbed(source.store, disturb, random);
      const { manifest } = await exportMade(watched, dir.path, source.parents);
      // Taken back to the head that was exported, the copy answers the same, but for where it begins and ends.
      const { head } = manifest.marks;
      const copy = createMemoryStore();
      await restoreMade(dir.path, copy);
      const lowest = Math.max(manifest.marks.lowest.number, (await source.store.marks())?.lowest.number ?? 0);
      for (let number = lowest; number <= head.number; number++)
        expect(await copy.canonicalHash(number)).toBe(await source.store.canonicalHash(number));
      const from = Math.max(manifest.marks.anchor.number, (await source.store.marks())?.anchor.number ?? 0);
      const keys = [0, 1, 2, 3, 4, 5].map((at) => ({ kind: 'account', address: address(at) }) as const);
      for (let number = from; number <= head.number; number++)
        expect(plain(await copy.loadState(keys, number))).toEqual(
          plain(await source.store.loadState(keys, number)),
        );
    }
  });

  it('is refused into a folder with another chain, and into a store that holds one', async () => {
    await using source = await Source.open(createRandom(seed));
    await using dir = await snapshotDir();
    await source.begin(0, false);
    await exportMade(source.store, dir.path, source.parents);
    const other = { chainId: '2' };
    await expect(exportMade(source.store, dir.path, source.parents, other)).rejects.toThrow(
      'holds a snapshot of chain 1',
    );
    await expect(restoreMade(dir.path, source.store)).rejects.toThrow('holds a chain already');
  });
});

/** The same store, to which something happens before some of its reads. */
function disturbed(store: Store, disturb: () => Promise<void>, random: Random): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (name !== 'header' && name !== 'diffBytes') return member.bind(target) as unknown;
      return async (...values: unknown[]) => {
        if (random(40) === 0) await disturb();
        return Reflect.apply(member, target, values) as unknown;
      };
    },
  });
}
