// Two processes in one: the first executes flashblocks, the second is told of them over the bytes of a feed and executes nothing.
// What either says of `pending` must be the same after every item.
import assert from 'node:assert/strict';
import type { BlockRef, EncodedOutcome, Outcome } from '../../src/chain/outcome.ts';
import { decodeOutcome } from '../../src/chain/outcome-codec.ts';
import type { ExecutedFlashblock } from '../../src/executor/interface.ts';
import type { NativeExecutor } from '../../src/executor/native-executor.ts';
import { readItem } from '../../src/feed/codec.ts';
import type { FeedItem, SentRemovedBlock } from '../../src/feed/interface.ts';
import { decodeItem, encodeItem } from '../../src/feed/wire/item-codec.ts';
import { type PreconfirmedBlock, PreconfirmedChain } from '../../src/head/preconfirmed.ts';
import { DEFAULT_REPLICATED_OPTIONS, ReplicatedPreconfirming } from '../../src/preconfirm/replicated.ts';
import { type Hex, toHex } from '../../src/primitives/hex.ts';
import { ACCOUNTS, MadeChain, type MadePayload, SLOTS, STORE } from '../support/flashblocks/made-chain.ts';
import type { Random } from '../support/random.ts';
import { runCode } from '../support/serve/executor.ts';

/** NUMBER, TIMESTAMP, PREVRANDAO, COINBASE and the hashes of the block and the three before it. */
const CONTEXT = runCode(
  `0x${['43', '42', '44', '41', '4340', '6001430340', '6002430340', '6003430340']
    .map((code, at) => `${code}60${(32 * at).toString(16).padStart(2, '0')}52`)
    .join('')}6101006000f3`,
);

/** What a thread says of `pending`. */
interface Shown {
  readonly blocks: string;
  readonly state: string;
}

/** Bytes of whatever class. */
function plain(value: unknown): string {
  const replace = function (this: Record<string, unknown>, key: string, rendered: unknown): unknown {
    const found = this[key];
    if (found instanceof Uint8Array) return toHex(found);
    return typeof found === 'bigint' ? found.toString() : rendered;
  };
  return JSON.stringify(value, replace, 1);
}

/** A pre-confirmed block as a thread reads it. */
export const contentsOf = (block: PreconfirmedBlock): object => ({
  ...{ number: block.number, index: block.index, payloadId: block.payloadId, hash: block.hashSoFar },
  ...{ parentHash: block.parentHash, timestamp: block.timestamp, header: block.header },
  receipts: block.receipts,
  logs: Array.from({ length: block.length }, (_, at) => block.log(at)),
});

/** One thread that serves: what it is told, and what it then says of `pending`. */
export class Thread {
  readonly #chain: PreconfirmedChain;
  constructor(executor: NativeExecutor) {
    this.#chain = new PreconfirmedChain(executor);
  }

  take(item: FeedItem): void {
    const event = readItem(item);
    if (event.kind === 'preconfirmed' || event.kind === 'dropped') this.#chain.apply(event);
  }

  settle(head: BlockRef): void {
    this.#chain.settle(head.number);
  }

  newest(head: BlockRef): PreconfirmedBlock | undefined {
    return this.#chain.on(head)?.newest;
  }

  async pending(head: BlockRef, created: readonly Hex[]): Promise<Shown | undefined> {
    const pending = this.#chain.on(head);
    if (pending === undefined) return undefined;
    const { view, blocks } = pending;
    const addresses = [...ACCOUNTS, ...created];
    return {
      blocks: plain(blocks.map(contentsOf)),
      state: plain({
        accounts: await Promise.all(addresses.map(async (address) => view.account(address))),
        codes: await Promise.all(addresses.map(async (address) => view.code(address))),
        slots: await Promise.all(SLOTS.map(async (slot) => view.storageAt(STORE, slot))),
        context: await view.call(CONTEXT),
        written: await view.call({ to: STORE, gas: '0xfffff', data: `${SLOTS[1] ?? '0x'}${'0'.repeat(64)}` }),
      }),
    };
  }
}

/** What the second process comes to by the store. */
type Step = { readonly apply: EncodedOutcome } | { readonly revertTo: EncodedOutcome };

/** How often things happened. */
export interface Seen {
  items: number;
  compared: number;
  shown: number;
  rebuilt: number;
  dropped: number;
  above: number;
  otherwise: number;
  reverted: number;
  lost: number;
  regained: number;
  refused: number;
  held: number;
}

/** Both processes, and one that makes the blocks. */
export class World {
  readonly chain = new MadeChain();
  readonly maker = this.chain.executor();
  readonly executing = this.chain.executor();
  readonly told = this.chain.executor();
  readonly threads = [new Thread(this.executing), new Thread(this.told)] as const;
  readonly replicated: ReplicatedPreconfirming;
  readonly sealed: EncodedOutcome[] = [this.chain.genesis];
  /** Created contracts, which may be anywhere. */
  readonly created = new Set<Hex>();
  readonly random: Random;
  readonly seen: Seen;
  /** What was told and not heard yet; what was stored and not seen yet. */
  readonly #feed: FeedItem[] = [];
  readonly #store: Step[] = [];
  #toldHead: BlockRef = this.chain.genesis;
  /** What the first process said of `pending` after each flashblock. */
  readonly #states = new Map<string, { readonly state: string; readonly created: readonly Hex[] }>();
  #isLost = false;
  #payloads = 0;

  constructor(random: Random, seen: Seen) {
    this.random = random;
    this.seen = seen;
    this.replicated = new ReplicatedPreconfirming(DEFAULT_REPLICATED_OPTIONS, {
      executor: this.told,
      publish: async (item) => this.threads[1].take(item),
      observe: (event) => {
        if (event.kind === 'refused') throw new Error('it fits', { cause: event.error });
        if (event.kind === 'held') seen.held += 1;
      },
    });
    // As a writer begins.
    const { number, hash, encoded } = this.chain.genesis;
    this.replicated.take({ kind: 'confirmed', removed: [], added: [{ number, hash, outcome: encoded }] });
    this.replicated.setHead(this.chain.genesis);
  }

  get head(): EncodedOutcome {
    const head = this.sealed.at(-1);
    if (head === undefined) throw new Error('there is no head');
    return head;
  }

  payload(parent: BlockRef, isHashed: boolean): MadePayload {
    this.#payloads += 1;
    return { payloadId: `0x${this.#payloads.toString(16).padStart(16, '0')}`, parent, isHashed };
  }

  /** Executes a flashblock, and tells of it; false where it is refused. */
  async execute(payload: MadePayload, index: number, transactions: readonly Hex[]): Promise<boolean> {
    const { payloadId, parent } = payload;
    let executed: ExecutedFlashblock;
    try {
      executed = await this.chain.execute(this.executing, payload, index, transactions);
    } catch (error) {
      // What it stands on is not pre-confirmed.
      assert.match(String(error), /does not follow|not refused for what it says/);
      return false;
    }
    const item: FeedItem = { kind: 'preconfirmed', payloadId, ...executed };
    for (const { contractAddress } of decodeOutcome(executed.outcome).receipts)
      if (contractAddress !== undefined) this.created.add(toHex(contractAddress));
    if (index === 0 && this.executing.sealedOtherwise === parent.number)
      this.publish({ kind: 'dropped', from: parent.number, reason: 'sealedOtherwise', version: undefined });
    this.publish(item);
    const created = [...this.created];
    const { state } = (await this.threads[0].pending(this.head, created)) ?? {};
    assert.ok(state);
    this.#states.set(`${payloadId} ${index}`, { state, created });
    return true;
  }

  drop(from: number): void {
    const version = this.executing.dropPreconfirmed(from);
    this.publish({ kind: 'dropped', from, reason: 'gap', version });
  }

  /** To the threads of the first process, and over the wire. */
  publish(item: FeedItem): void {
    this.threads[0].take(item);
    this.#feed.push(decodeItem(encodeItem(item)));
  }

  async confirm(block: EncodedOutcome): Promise<void> {
    const promoted = await this.executing.promote(block.block, (keys) => keys.map(() => new Uint8Array(0)));
    if (promoted.outcome === undefined) await this.executing.execute(block.block);
    this.sealed.push(block);
    const { number, hash, encoded } = block;
    if (this.executing.takeLostPreconfirmed())
      this.publish({ kind: 'dropped', from: number + 1, reason: 'sealedOtherwise', version: undefined });
    this.#store.push({ apply: block });
    this.publish({ kind: 'confirmed', removed: [], added: [{ number, hash, outcome: encoded }] });
    this.threads[0].settle(block);
  }

  revertTo(number: number): void {
    this.drop(0);
    const removed = this.sealed.splice(number + 1).reverse();
    for (const executor of [this.maker, this.executing]) executor.revertTo(number);
    this.#store.push({ revertTo: this.head });
    this.publish({ kind: 'confirmed', removed: removed.map(sentRemoved), added: [] });
  }

  /** Brings the second process some of what it has to hear and see, in any order of the two. */
  async deliver(share: number): Promise<void> {
    while ((this.#feed.length > 0 || this.#store.length > 0) && this.random.chance(share)) {
      const step = this.random.chance(0.5) || this.#feed.length === 0 ? this.#store.shift() : undefined;
      if (step === undefined) this.#hear();
      else this.#see(step);
      await this.#compareStates();
    }
    if (this.#feed.length === 0 && this.#store.length === 0) await this.#compareAll();
  }

  #hear(): void {
    const item = this.#feed.shift();
    if (item === undefined) return;
    if (this.random.chance(0.02)) {
      this.seen.lost += 1;
      this.#isLost = true;
      this.replicated.lost('gap');
      assert.deepEqual(this.told.preconfirmedPayloads(), []);
    } else {
      this.replicated.take(item);
    }
  }

  #see(step: Step): void {
    if ('apply' in step) {
      this.told.apply(step.apply.header, step.apply.diffBytes);
      this.#toldHead = step.apply;
    } else {
      this.told.revertTo(step.revertTo.number);
      this.#toldHead = step.revertTo;
    }
    this.replicated.setHead(this.#toldHead);
    this.threads[1].settle(this.#toldHead);
  }

  /** Whatever it says of `pending` is what the first process said after the same flashblock. */
  async #compareStates(): Promise<void> {
    this.seen.items += 1;
    const newest = this.threads[1].newest(this.#toldHead);
    if (newest === undefined) return;
    const said = this.#states.get(`${newest.payloadId} ${newest.index}`);
    const pending = await this.threads[1].pending(this.#toldHead, said?.created ?? []);
    assert.equal(pending?.state, said?.state);
    this.seen.shown += 1;
  }

  /** With all heard and seen, both say the same, unless something was lost. */
  async #compareAll(): Promise<void> {
    const payloads = this.told.preconfirmedPayloads();
    const isSame = payloads.join() === this.executing.preconfirmedPayloads().join();
    if (this.#isLost && !isSame) return;
    this.seen.regained += Number(this.#isLost && payloads.length > 0);
    this.#isLost &&= payloads.length === 0;
    if (this.#isLost) return;
    const [ours, theirs] = await Promise.all(
      this.threads.map((thread) => thread.pending(this.head, [...this.created])),
    );
    assert.deepEqual(theirs, ours);
    this.seen.compared += 1;
  }
}

function sentRemoved(block: Outcome): SentRemovedBlock {
  const { number, hash, parentHash, timestamp, logs, receipts, diffBytes } = block;
  return { number, hash, parentHash, timestamp, logs, receipts, diffBytes };
}
