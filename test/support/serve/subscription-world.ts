import fc from 'fast-check';
import type { FeedEvent } from '../../../src/feed/interface.ts';
import { PreconfirmedChain } from '../../../src/head/preconfirmed.ts';
import { ZERO_HASH } from '../../../src/primitives/hex.ts';
import {
  confirmed,
  flashblockEvent,
  hashOf,
  logsJson,
  type MadeBlock,
  makeBlock,
  removed,
  renderAll,
  type Transaction,
} from './subscriptions.ts';

type Executor = ConstructorParameters<typeof PreconfirmedChain>[0];

/** For tests only: the first block. */
export const GENESIS: MadeBlock = {
  number: 0,
  hash: hashOf('genesis'),
  parentHash: hashOf('nothing'),
  timestamp: 1_000,
  transactions: [],
};
/** For tests only: nothing is taken off further below the highest head; a node would begin anew, as its store does not go there. */
export const UNDO_WINDOW = 8;
const MAX_STACK = 4;

/** For tests only: what may happen to a chain. */
export type Command =
  | { readonly kind: 'begin' | 'extend'; readonly transactions: readonly Transaction[] }
  | {
      readonly kind: 'rebuild';
      readonly at: number;
      readonly keep: number;
      readonly transactions: readonly Transaction[];
    }
  | { readonly kind: 'drop'; readonly at: number }
  | {
      readonly kind: 'seal';
      readonly blocks: number;
      readonly keep: number;
      readonly transactions: readonly Transaction[];
      readonly salt: string;
    }
  | {
      readonly kind: 'reorganise';
      readonly depth: number;
      readonly blocks: number;
      readonly keep: number;
      readonly transactions: readonly Transaction[];
    };

const transactions = fc.array(fc.nat({ max: 40 }), { maxLength: 4 });
const ALL = 99;
const keep = fc.constantFrom(ALL, ALL, 0, 1, 2, 3);
export const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('begin' as const), transactions }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('extend' as const), transactions }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('rebuild' as const),
      at: fc.nat({ max: 3 }),
      keep,
      transactions,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('drop' as const), at: fc.nat({ max: 3 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('seal' as const),
      blocks: fc.integer({ min: 1, max: 2 }),
      keep,
      transactions: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, transactions),
      salt: fc.constantFrom('', '', '', 'another'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('reorganise' as const),
      depth: fc.integer({ min: 1, max: 4 }),
      // With none, the chain only goes back.
      blocks: fc.integer({ min: 0, max: 4 }),
      keep,
      transactions,
    }),
  },
);

/** For tests only: a chain that does what commands say, and the feed that tells of it. */
export class World {
  chain: MadeBlock[] = [GENESIS];
  /** As the builder has them; they may not stand any more. */
  pending: { block: MadeBlock; index: number; payload: string }[] = [];
  /** What requests are answered by; of its state, nothing is read here. */
  readonly head = new PreconfirmedChain({
    preconfirmedView: () => ({ release: () => {} }),
  } as unknown as Executor);
  #payloads = 0;
  #highest = GENESIS.number;
  readonly #isHashless: boolean;

  /** Its builder does not say the hashes of blocks that are not sealed. */
  constructor({ isHashless = false }: { readonly isHashless?: boolean } = {}) {
    this.#isHashless = isHashless;
  }

  get tip(): MadeBlock {
    return this.chain.at(-1) ?? GENESIS;
  }

  run(order: Command): FeedEvent | undefined {
    const told = this.#event(order);
    const event = this.#isHashless && told?.kind === 'preconfirmed' ? withoutHashes(told) : told;
    if (event?.kind === 'confirmed') this.head.settle(this.tip.number);
    else if (event !== undefined && event.kind !== 'marked') this.head.apply(event);
    return event;
  }

  /** What eth_getLogs gives up to the head, and from there up to `pending`. */
  logs(): { readonly latest: readonly string[]; readonly pending: readonly string[] } {
    const latest = this.chain.flatMap(logsJson);
    const pending = this.head.on(this.tip)?.blocks.flatMap(renderAll) ?? [];
    return { latest, pending: [...latest, ...pending] };
  }

  #event(order: Command): FeedEvent | undefined {
    switch (order.kind) {
      case 'begin': {
        if (this.pending.length >= MAX_STACK) return undefined;
        return this.#begin(this.pending.at(-1)?.block ?? this.tip, order.transactions);
      }
      case 'extend': {
        const newest = this.pending.at(-1);
        if (newest === undefined) return undefined;
        const { block, payload } = newest;
        const parent = { number: block.number - 1, hash: block.parentHash };
        newest.block = makeBlock(parent, [...block.transactions, ...order.transactions]);
        newest.index++;
        return flashblockEvent(newest.block, newest.index, order.transactions.length, payload);
      }
      case 'rebuild': {
        const old = this.pending[order.at];
        if (old === undefined) return undefined;
        this.pending.length = order.at;
        const again = [...old.block.transactions.slice(0, order.keep), ...order.transactions];
        return this.#begin({ number: old.block.number - 1, hash: old.block.parentHash }, again);
      }
      case 'drop': {
        const from = this.tip.number + 1 + order.at;
        this.pending = this.pending.filter(({ block }) => block.number < from);
        return { kind: 'dropped', from, reason: 'gap', version: 1 };
      }
      case 'seal':
        return this.#confirm(0, order.blocks, order);
      case 'reorganise': {
        const lowest = Math.max(GENESIS.number, this.#highest - UNDO_WINDOW);
        const depth = Math.min(order.depth, this.tip.number - lowest);
        return depth === 0
          ? undefined
          : this.#confirm(depth, order.blocks, { ...order, salt: String(this.#payloads++) });
      }
    }
  }

  #begin(
    parent: { readonly number: number; readonly hash: MadeBlock['hash'] },
    content: readonly Transaction[],
  ): FeedEvent {
    const block = makeBlock(parent, content);
    const payload = `payload ${this.#payloads++}`;
    this.pending.push({ block, index: 0, payload });
    return flashblockEvent(block, 0, content.length, payload);
  }

  #confirm(
    depth: number,
    blocks: number,
    {
      keep: kept,
      transactions: more,
      salt,
    }: { keep: number; transactions: readonly Transaction[]; salt: string },
  ): FeedEvent {
    const gone = this.chain.splice(this.chain.length - depth, depth).reverse();
    const models = depth > 0 ? gone.toReversed() : this.pending.map(({ block }) => block);
    const added: MadeBlock[] = [];
    for (let at = 0; at < blocks; at++) {
      const content = [...(models[at]?.transactions.slice(0, kept) ?? []), ...more];
      const block = makeBlock(this.tip, content, salt);
      this.chain.push(block);
      added.push(block);
    }
    this.#highest = Math.max(this.#highest, this.tip.number);
    this.pending = this.pending.filter(({ block }) => block.number > this.tip.number);
    if (this.pending[0]?.block.parentHash !== this.tip.hash) this.pending = [];
    return {
      kind: 'confirmed',
      removed: gone.map((block) => removed(block)),
      added: added.map((block) => confirmed(block)),
    };
  }
}

function withoutHashes(event: Extract<FeedEvent, { kind: 'preconfirmed' }>): typeof event {
  const { flashblock } = event;
  return { ...event, flashblock: { ...flashblock, outcome: { ...flashblock.outcome, hash: ZERO_HASH } } };
}

/** For tests only: what a client holds, and what it should never have been told. */
export class HeldLogs {
  readonly held = new Map<string, string>();
  readonly problems: string[] = [];

  constructor(logs: readonly string[] = []) {
    for (const log of logs) this.held.set(keyOf(log), log);
  }

  take(json: string): void {
    const text = json.replace('"removed":true', '"removed":false');
    const key = keyOf(text);
    if (text === json) {
      if (this.held.has(key)) this.problems.push(`twice: ${text}`);
      this.held.set(key, text);
      return;
    }
    if (this.held.get(key) !== text) this.problems.push(`not held: ${text}\nbut ${this.held.get(key)}`);
    if ([...this.held.keys()].at(-1) !== key) this.problems.push(`not the newest: ${text}`);
    this.held.delete(key);
  }
}

function keyOf(log: string): string {
  const { blockNumber, logIndex } = JSON.parse(log) as { blockNumber: string; logIndex: string };
  return `${blockNumber} ${logIndex}`;
}

/** For tests only: a log without the one field in which a pre-confirmed one differs. */
export const withoutHash = (log: string): string => log.replace(/"blockHash":"0x[0-9a-f]*"/, '');
