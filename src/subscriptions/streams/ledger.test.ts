import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  command,
  GENESIS,
  HeldLogs,
  UNDO_WINDOW,
  World,
  withoutHash,
} from '../../../test/support/serve/subscription-world.ts';
import { confirmed, flashblockEvent, hashOf, makeBlock } from '../../../test/support/serve/subscriptions.ts';
import { ZERO_HASH } from '../../primitives/hex.ts';
import { FeedGapError, Ledger } from './ledger.ts';
import { messagesOf } from './log-message.ts';
import type { LogChange } from './log-run.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** A client that takes what a ledger says. */
class Client extends HeldLogs {
  readonly #liveSince: number;
  readonly #hasAll: boolean;

  constructor(liveSince: number, logs?: readonly string[]) {
    super(logs);
    this.#liveSince = liveSince;
    this.#hasAll = logs !== undefined;
  }

  takeAll(change: LogChange): void {
    for (const message of messagesOf(change)) {
      if (!this.#hasAll && message.removed && message.since <= this.#liveSince) continue;
      this.take(message.json(this.#liveSince));
    }
  }
}

it(`tells clients exactly what eth_getLogs would (seed ${seed})`, { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(
      fc.array(command, { minLength: 10, maxLength: 60 }),
      fc.array(fc.nat({ max: 50 }), { maxLength: 4 }),
      fc.boolean(),
      (orders, joins, isHashless) => {
        const world = new World({ isHashless });
        const ledger = new Ledger({ undoWindow: UNDO_WINDOW }, GENESIS);
        const first = world.logs();
        const latest = [new Client(0, first.latest)];
        const pending = [new Client(0, first.pending)];
        const live = { latest: [new Client(0)], pending: [new Client(0)] };
        for (const order of orders) {
          const event = world.run(order);
          if (event === undefined) continue;
          const step = ledger.apply(event);
          for (const client of [...latest, ...live.latest]) client.takeAll(step.confirmed);
          for (const client of [...pending, ...live.pending]) client.takeAll(step.pending);
          const now = world.logs();
          for (const client of latest) expect([...client.held.values()]).toEqual(now.latest);
          for (const client of pending) {
            expect([...client.held.values()].map(withoutHash)).toEqual(now.pending.map(withoutHash));
          }
          for (const client of [...latest, ...pending, ...live.latest, ...live.pending]) {
            expect(client.problems).toEqual([]);
          }
          if (joins.includes(ledger.position)) {
            // With history: confirmed logs have their hash, pre-confirmed ones have none.
            latest.push(new Client(ledger.position, now.latest));
            pending.push(new Client(ledger.position, now.pending));
            live.latest.push(new Client(ledger.position));
            live.pending.push(new Client(ledger.position));
          }
        }
        // One that came first and never missed anything holds the same as one that asks now.
        expect([...(live.latest[0]?.held.values() ?? [])]).toEqual(world.logs().latest);
      },
    ),
    { seed, numRuns: Number(process.env['TEST_RUNS'] ?? 150) },
  );
});

it('ignores what led to the head it began with, and refuses what does not continue it', () => {
  const one = makeBlock(GENESIS, [1]);
  const two = makeBlock(one, [2]);
  const four = makeBlock({ number: 3, hash: hashOf('three') }, [3]);
  const ledger = new Ledger({ undoWindow: UNDO_WINDOW }, two);
  expect(ledger.apply({ kind: 'confirmed', removed: [], added: [confirmed(one)] }).confirmed.added).toEqual(
    [],
  );
  expect(ledger.apply({ kind: 'confirmed', removed: [], added: [confirmed(two)] }).confirmed.added).toEqual(
    [],
  );
  expect(() => ledger.apply({ kind: 'confirmed', removed: [], added: [confirmed(four)] })).toThrow(
    FeedGapError,
  );
});

it('takes nothing back while a block is sealed and not told of, whatever the next one was executed on', () => {
  const one = makeBlock(GENESIS, [1, 2]);
  const two = makeBlock(one, [3]);
  const ledger = new Ledger({ undoWindow: UNDO_WINDOW }, GENESIS);
  ledger.apply(flashblockEvent(one, 0, 2, 'one'));
  const begun = ledger.apply(flashblockEvent(two, 0, 1, 'two')).pending;
  expect(begun.removed).toEqual([]);
  expect(begun.added).toHaveLength(1);
  const sealed = ledger.apply({ kind: 'confirmed', removed: [], added: [confirmed(one)] });
  expect(sealed.pending).toEqual({ removed: [], added: [] });
  expect(ledger.standing.map((block) => block.number)).toEqual([2]);
});

it('knows a block without a hash again when it is sealed, and tells nothing of it twice (B6)', () => {
  const one = makeBlock(GENESIS, [1, 2]);
  const longer = makeBlock(GENESIS, [1, 2, 3]);
  for (const [sealed, isSame] of [
    [one, true],
    [longer, false],
  ] as const) {
    const ledger = new Ledger({ undoWindow: UNDO_WINDOW }, GENESIS);
    const { flashblock } = flashblockEvent(one, 0, 2, 'one');
    const outcome = { ...flashblock.outcome, hash: ZERO_HASH };
    ledger.apply({ kind: 'preconfirmed', flashblock: { ...flashblock, outcome } });
    const step = ledger.apply({ kind: 'confirmed', removed: [], added: [confirmed(sealed)] });
    expect(step.added.map(({ wasPreconfirmed }) => wasPreconfirmed)).toEqual([isSame]);
    expect(step.dropped).toHaveLength(isSame ? 0 : 1);
    expect(step.pending.removed).toEqual([]);
    expect(messagesOf(step.pending)).toHaveLength(isSame ? 0 : 3);
  }
});

it('starts over with the first block of another copy', () => {
  const ledger = new Ledger({ undoWindow: UNDO_WINDOW }, GENESIS);
  ledger.apply({ kind: 'anchored' });
  expect(ledger.tip).toBeUndefined();
  const block = makeBlock({ number: 90, hash: hashOf('ninety') }, [1]);
  expect(
    messagesOf(ledger.apply({ kind: 'confirmed', removed: [], added: [confirmed(block)] }).pending),
  ).toHaveLength(1);
  expect(ledger.tip?.number).toBe(91);
});
