import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { FAKE_RENDER } from '../../../test/support/serve/head.ts';
import { command, HeldLogs, World, withoutHash } from '../../../test/support/serve/subscription-world.ts';
import { confirmed } from '../../../test/support/serve/subscriptions.ts';
import type { FeedEvent } from '../../feed/interface.ts';
import { BlockJson } from '../../head/block-json.ts';
import { HeadError } from '../../head/errors.ts';
import { RenderedBlock } from '../../head/rendered.ts';
import type { FoundLogs } from '../../head/snapshot.ts';
import type { LogQuery } from '../../store/interface.ts';
import { createMatcher } from '../../store/match.ts';
import type { History, Sink } from '../interface.ts';
import { StreamMetrics } from '../metrics.ts';
import type { LogRequest } from '../request.ts';
import { ConfirmedLogs } from './log-run.ts';
import { Streams } from './streams.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** A store that is read slowly, and may be reorganised meanwhile. */
class SlowHistory implements History {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  async *logs(query: LogQuery, from: number, to: number): AsyncGenerator<FoundLogs, void, void> {
    const matches = createMatcher(query);
    const last = this.#world.chain[to]?.hash;
    for (let number = from; number <= to; number++) {
      await setImmediate();
      const made = this.#world.chain[number];
      if (made === undefined || this.#world.chain[to]?.hash !== last)
        throw new HeadError({ code: 'REORGANISED' });
      const block = new RenderedBlock(new ConfirmedLogs(confirmed(made)));
      const all = Array.from({ length: block.logs.length }, (_, index) => index);
      const indexes = all.filter((index) => matches(block.logs.log(index)));
      if (indexes.length > 0) yield { block, indexes };
    }
  }

  async isCanonical({ number, hash }: { readonly number: number; readonly hash: string }): Promise<boolean> {
    await setImmediate();
    return this.#world.chain[number]?.hash === hash;
  }
}

/** A client that now and then takes a while. */
class Reader extends HeldLogs implements Sink {
  readonly client = '192.0.2.1';
  readonly request: LogRequest;
  isClosed = false;
  #waiting = 0;

  constructor(request: LogRequest) {
    super();
    this.request = request;
  }

  get isFull(): boolean {
    return this.#waiting >= 3;
  }

  send(message: Buffer): void {
    this.#waiting++;
    const text = message.toString();
    this.take(text.slice(text.indexOf('"result":') + '"result":'.length, -2));
  }

  async drained(): Promise<void> {
    await setImmediate();
    this.#waiting = 0;
  }

  close(): void {
    this.isClosed = true;
  }

  /** What it should hold by now. */
  expected(world: World): readonly string[] {
    const { kind, from = { block: 0, index: 0 }, query } = this.request;
    const logs = world.logs();
    const wanted = (log: string): boolean => {
      const { blockNumber, logIndex, address } = JSON.parse(log) as Record<string, string>;
      const [block, index] = [Number(blockNumber), Number(logIndex)];
      if (block < from.block || (block === from.block && index < from.index)) return false;
      return (
        query.addresses.length === 0 ||
        query.addresses.some((a) => `0x${Buffer.from(a).toString('hex')}` === address)
      );
    };
    return (kind === 'logs' ? logs.latest : logs.pending).filter(wanted);
  }
}

const join = fc.record({
  at: fc.nat({ max: 30 }),
  kind: fc.constantFrom('logs' as const, 'pendingLogs' as const),
  back: fc.nat({ max: 12 }),
  index: fc.constantFrom(0, 0, 1, 3),
  address: fc.constantFrom(undefined, undefined, 0xa0, 0xa1),
});

it(`resumes exactly once, whatever happens meanwhile (seed ${seed})`, { timeout: 60_000 }, async () => {
  const order = fc.record({ order: command, pauses: fc.nat({ max: 3 }), lag: fc.nat({ max: 2 }) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(order, { minLength: 15, maxLength: 40 }),
      fc.array(join, { minLength: 2, maxLength: 5 }),
      async (orders, joins) => {
        const world = new World();
        for (let transaction = 0; transaction < 10; transaction++) {
          world.run({ kind: 'seal', blocks: 1, keep: 0, transactions: [transaction, 3], salt: '' });
        }
        const faults: unknown[] = [];
        const streams = new Streams(
          {
            ...{
              undoWindow: 16,
              hasPreconfirmations: true,
              resumeBlocks: 2,
              resumeReaders: 2,
              resumeWaitMs: 20_000,
            },
            ...{ maxWaitingEvents: 4, maxPerConnection: 8, maxSubscriptions: 100 },
          },
          {
            tip: world.tip,
            history: new SlowHistory(world),
            json: new BlockJson({
              ...FAKE_RENDER,
              header: () => '{}',
              block: () => '{}',
              transactions: () => [],
            }),
            readState: (read) =>
              read({
                account: () => ({ nonce: '0x0', balance: '0x0' }),
                storageAt: (_address, slot) => slot,
              }),
            metrics: new StreamMetrics(new Registry()),
            onFault: (error) => faults.push(error),
          },
        );
        const readers: Reader[] = [];
        // The store is ahead of what subscribers have been told.
        const untold: FeedEvent[] = [];
        const tell = (left: number): void => {
          while (untold.length > left) streams.publish(untold.shift() ?? { kind: 'marked' });
        };
        for (const [at, { order: what, pauses, lag }] of orders.entries()) {
          for (const { kind, back, index, address } of joins.filter((one) => one.at === at)) {
            const block = Math.max(0, world.tip.number + 1 - back);
            const addresses = address === undefined ? [] : [new Uint8Array(20).fill(address, 19)];
            const reader = new Reader({ kind, query: { addresses, topics: [] }, from: { block, index } });
            readers.push(reader);
            streams.open(reader.request, '0x1', reader);
          }
          const event = world.run(what);
          if (event !== undefined) untold.push(event);
          tell(lag);
          for (let left = pauses; left > 0; left--) await setImmediate();
        }
        tell(0);
        for (const reader of readers) {
          const expected = reader.expected(world).map(withoutHash);
          // History has an end: a reader that is not there after this many turns never will be.
          for (let left = 500; left > 0 && reader.held.size !== expected.length; left--) await setImmediate();
          for (let left = 10; left > 0; left--) await setImmediate();
          expect([...reader.held.values()].map(withoutHash)).toEqual(expected);
          expect(reader.problems).toEqual([]);
          expect(reader.isClosed).toBe(false);
        }
        expect(faults).toEqual([]);
      },
    ),
    { seed, numRuns: Number(process.env['TEST_RUNS'] ?? 150) },
  );
});
