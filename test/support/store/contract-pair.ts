import { deepStrictEqual } from 'node:assert/strict';
import type { Outcome } from '../../../src/chain/outcome.ts';
import type { StateKey } from '../../../src/chain/state-key.ts';
import { fromHex } from '../../../src/primitives/hex.ts';
import type { StoreError } from '../../../src/store/error.ts';
import type { LogQuery, Pin, StateVersion, Store } from '../../../src/store/interface.ts';
import {
  address,
  type BlockContent,
  codeOf,
  makeChain,
  randomContent,
  refOf,
  topic,
  word,
} from './contract-chain.ts';
import { bytes, plain, readAll } from './contract-observe.ts';

/** Two stores that are told the same. The model keeps all it was ever told: it is the twin that was never pruned. */
export class StorePair {
  readonly #tested: Store;
  readonly #model: Store;
  readonly #random: (below: number) => number;
  /** The canonical chain from block 0 on, whatever of it the stores hold. */
  #chain: Outcome[] = [];

  constructor(tested: Store, model: Store, random: (below: number) => number) {
    this.#tested = tested;
    this.#model = model;
    this.#random = random;
  }

  /** Begins with genesis and the whole state, or somewhere with none of it; refused over history. */
  async start(): Promise<void> {
    const random = this.#random;
    const anchor = random(2) === 0 ? 0 : random(700);
    const chain = makeChain(undefined, this.#contents(anchor + 1));
    const options = { reanchor: true, partial: anchor > 0 || random(4) === 0 };
    if (await this.#both((store) => store.append(chain.slice(anchor), options))) this.#chain = chain;
  }

  /** Changes both stores in some way. */
  async step(): Promise<void> {
    const random = this.#random;
    const marks = await this.#model.marks();
    if (marks === undefined) throw new Error('the model is empty');
    const { lowest, anchor, head } = marks;
    switch (random(9)) {
      case 0: {
        const number = Math.max(0, head.number - random(12));
        if (await this.#both((store) => store.revertTo(number))) this.#chain.length = number + 1;
        return;
      }
      case 1: {
        const onto = Math.max(0, head.number - random(12));
        await this.#append(1 + random(4), onto);
        return;
      }
      case 2: {
        const from = Math.max(0, lowest.number - random(random(2) === 0 ? 20 : 400));
        await this.#both((store) => store.prepend(this.#chain.slice(from, lowest.number)));
        return;
      }
      case 3: {
        const pins = this.#pins();
        const wrong = random(8) === 0;
        await this.#both((store) => store.pin(wrong ? head : anchor, pins));
        return;
      }
      case 4:
      case 5: {
        const up = lowest.number + random(random(2) === 0 ? 40 : head.number - lowest.number + 1);
        const limit = [1, 50, 1000, 100_000][random(4)] ?? 1;
        await this.#both((store) => store.prune(up, limit));
        return;
      }
      case 6: {
        if (random(6) === 0) await this.start();
        return;
      }
      case 7: {
        const finalized = this.#chain[Math.max(0, head.number - random(40))] as Outcome;
        const safe = this.#chain[Math.max(0, head.number - random(20))] as Outcome;
        const moved = { safe: refOf(safe), ...(random(2) === 0 && { finalized: refOf(finalized) }) };
        await this.#both((store) => store.mark(moved));
        return;
      }
      default:
        // Now and then a long append, so that buckets close inside and between appends.
        await this.#append(random(3) === 0 ? 200 + random(500) : 1 + random(20));
    }
  }

  /** Asks both the same, somewhere in what they hold. */
  async compareQuery(): Promise<void> {
    const random = this.#random;
    const marks = await this.#model.marks();
    deepStrictEqual(await this.#tested.marks(), marks);
    if (marks === undefined) return;
    const { lowest, anchor, head } = marks;
    const between = (low: number, high: number): number => low + random(high - low + 1);
    const values = <T>(make: () => T): T[] => Array.from({ length: [0, 1, 1, 2, 5][random(5)] ?? 0 }, make);
    const query: LogQuery = {
      addresses: values(() => address(random(2) === 0 ? 7 : random(20))),
      topics: Array.from({ length: random(4) }, () =>
        values(() => (random(2) === 0 ? topic(random(14)) : word(random(14)))),
      ),
    };
    const from = random(3) === 0 ? lowest.number : between(lowest.number, head.number);
    const to = random(3) === 0 ? head.number : between(from, head.number);
    const number = random(3) === 0 ? anchor.number : between(anchor.number, head.number);
    const keys = [...this.#keys(12), blockHashKey(Math.max(0, number - random(257)))];
    const some = this.#chain[random(this.#chain.length)] as Outcome;
    await this.#same(async (store) => [
      (await readAll(store.findLogs(query, from, to))).map(({ block, indexes }) => [
        block.number,
        block.hash,
        indexes,
      ]),
      (await store.loadState(keys, number)).map(bytes),
      await store.canonicalHash(some.number),
      await store.numberOf(some.hash),
      bytes(await store.block(some)),
      bytes(await store.diffBytes(some.number)),
      await store.undoFloor(),
      (await store.receipts(some))?.receipts.length,
    ]);
  }

  /** Compares the whole state at some block. */
  async compareState(): Promise<void> {
    const marks = await this.#model.marks();
    if (marks === undefined) return;
    const number = marks.anchor.number + this.#random(marks.head.number - marks.anchor.number + 1);
    await this.#same(async (store) => (await readAll(store.scanState(number))).map(plain));
    const to = number + this.#random(marks.head.number - number + 1);
    await this.#same(async (store) => {
      const versions = await readAll(store.scanVersions(number, to));
      const wipes = versions.filter(({ kind }) => kind === 'wipe').length;
      const isInOrder = versions.slice(0, wipes).every(({ kind }) => kind === 'wipe');
      // The rest is in an order of each driver's own.
      return [isInOrder, versions.map(versionText).toSorted()];
    });
  }

  async #append(length: number, onto?: number): Promise<void> {
    const random = this.#random;
    const parent = onto ?? this.#chain.length - 1;
    const grown = makeChain(this.#chain[parent], this.#contents(length));
    const options = {
      ...(onto !== undefined && { onto }),
      ...(random(2) === 0 && { pins: this.#pins() }),
      ...(random(3) === 0 && { undo: 1 + random(60) }),
    };
    if (await this.#both((store) => store.append(grown, options))) {
      this.#chain = [...this.#chain.slice(0, parent + 1), ...grown];
    }
  }

  #contents(length: number): BlockContent[] {
    return Array.from({ length }, () => randomContent(this.#random));
  }

  #pins(): Pin[] {
    const random = this.#random;
    const first = this.#chain[Math.max(0, this.#chain.length - 1 - random(900))] as Outcome;
    const hash = { key: blockHashKey(first.number), value: fromHex(first.hash) };
    const pins = this.#keys(random(6)).map((key): Pin => {
      if (key.kind === 'code') {
        const [name, code] = codeOf(random(9));
        return { key: { kind: 'code', hash: name }, value: code };
      }
      return { key, value: random(3) === 0 ? new Uint8Array(0) : word(2000 + random(1000)) };
    });
    return [...pins, hash];
  }

  #keys(length: number): StateKey[] {
    const random = this.#random;
    return Array.from({ length }, (): StateKey => {
      const kind = random(7);
      if (kind === 0) return { kind: 'code', hash: codeOf(random(9))[0] };
      if (kind < 3) return { kind: 'account', address: address(random(7)) };
      return { kind: 'slot', address: address(random(7)), slot: word(random(5)) };
    });
  }

  /** Changes both stores; whether they took it. */
  async #both(change: (store: Store) => Promise<unknown>): Promise<boolean> {
    const [tested, model] = await Promise.allSettled([change(this.#tested), change(this.#model)]);
    const told = (result: PromiseSettledResult<unknown>): unknown =>
      result.status === 'rejected' ? ((result.reason as StoreError).code ?? result.reason) : 'done';
    deepStrictEqual(told(tested), told(model));
    return model.status === 'fulfilled';
  }

  async #same(read: (store: Store) => Promise<unknown>): Promise<void> {
    deepStrictEqual(await read(this.#tested), await read(this.#model));
  }
}

function blockHashKey(number: number): StateKey {
  return { kind: 'blockHash', number };
}

function versionText(version: StateVersion): string {
  const entries = Object.entries(plain(version) as object);
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
