import { describe, expect, it } from 'vitest';
import { hashAfter, type Made, wireMessage } from '../../../test/support/source/flashblocks.ts';
import { type FakeServer, ManualClock, startFakeServer } from '../../../test/support/source/upstreams.ts';
import type { FlashblockEvent, FlashblockObservation } from './events.ts';
import { FlashblockSource } from './flashblock-source.ts';
import { DEFAULT_FLASHBLOCK_OPTIONS, type FlashblockOptions } from './options.ts';

const { silenceMs } = DEFAULT_FLASHBLOCK_OPTIONS.stream;

/** A source on scripted servers, driven message by message: each is taken in before the next is sent. */
class Bench implements AsyncDisposable {
  readonly servers: readonly FakeServer[];
  readonly clock = new ManualClock();
  readonly observed: FlashblockObservation[] = [];
  readonly source: FlashblockSource;
  readonly events: FlashblockEvent[] = [];
  readonly #abort = new AbortController();
  #watchers: (() => void)[] = [];
  #reading: Promise<void> = Promise.resolve();

  private constructor(servers: readonly FakeServer[], options: Partial<FlashblockOptions>) {
    this.servers = servers;
    this.source = new FlashblockSource(
      servers.map(({ ws }, at) => `${ws.replace('//', '//user:secret@')}/key-${at}-0123456789abcdef`),
      { ...DEFAULT_FLASHBLOCK_OPTIONS, ...options },
      {
        clock: this.clock,
        random: () => 0,
        encode: () => [],
        observe: (event) => {
          this.observed.push(event);
          this.#wake();
        },
      },
    );
  }

  static async start(count: number, options: Partial<FlashblockOptions> = {}): Promise<Bench> {
    const servers = await Promise.all(Array.from({ length: count }, () => startFakeServer({})));
    return new Bench(servers, options);
  }

  async open(): Promise<void> {
    this.listen();
    await this.until(() => this.servers.every(({ sockets }) => sockets.length === 1));
  }

  listen(): void {
    this.#reading = (async () => {
      for await (const event of this.source.events(this.#abort.signal)) {
        this.events.push(event);
        this.#wake();
      }
    })();
  }

  async send(text: string, stream = 0): Promise<void> {
    const count = this.count('message');
    this.servers[stream]?.sockets.at(-1)?.send(text);
    await this.until(() => this.count('message') > count);
  }

  come(made: Made, stream = 0): Promise<void> {
    return this.send(JSON.stringify(wireMessage(made)), stream);
  }

  count(kind: FlashblockObservation['kind']): number {
    return this.observed.filter((event) => event.kind === kind).length;
  }

  /** What was passed on so far. */
  get shown(): readonly string[] {
    return this.events.map((event) => {
      if (event.kind === 'flashblock') return `${event.flashblock.blockNumber}:${event.flashblock.index}`;
      return event.kind === 'dropped'
        ? `dropped from ${event.from}: ${event.reason}`
        : `confirmed ${event.number}`;
    });
  }

  async until(done: () => boolean): Promise<void> {
    while (!done()) {
      await Promise.race([
        new Promise<void>((resolve) => this.#watchers.push(resolve)),
        // Sockets are opened out of our sight.
        new Promise<void>((resolve) => setImmediate(resolve)),
      ]);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#reading;
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  #wake(): void {
    for (const wake of this.#watchers.splice(0)) wake();
  }
}

describe('FlashblockSource', () => {
  it('makes one sequence of two streams, and measures how far one is behind', async () => {
    await using bench = await Bench.start(2);
    await bench.open();
    bench.source.setHead({ number: 0, hash: hashAfter(0) });
    await bench.come({ number: 1, index: 0 }, 0);
    bench.clock.advance(30);
    await bench.come({ number: 1, index: 0 }, 1);
    await bench.come({ number: 1, index: 2 }, 0);
    await bench.come({ number: 1, index: 1 }, 1);
    await bench.until(() => bench.events.length === 3);
    expect(bench.shown).toEqual(['1:0', '1:1', '1:2']);
    const [first, second] = bench.source.streams;
    expect(bench.observed).toContainEqual({ kind: 'lag', stream: second?.name, ms: 30 });
    expect(bench.observed).toContainEqual({
      kind: 'gapRepaired',
      stream: second?.name,
      number: 1,
      index: 1,
    });
    expect(first).toMatchObject({ state: 'live', messages: 2, undecodable: 0, lastAt: 30 });
    expect(JSON.stringify([bench.observed, bench.source.streams])).not.toMatch(/secret|0123456789abcdef/);
  });

  it('names both streams of a contradiction', async () => {
    await using bench = await Bench.start(2);
    await bench.open();
    bench.source.setHead({ number: 0, hash: hashAfter(0) });
    await bench.come({ number: 1, index: 0 }, 0);
    await bench.come({ number: 1, index: 0, twist: 'lie' }, 1);
    await bench.until(() => bench.events.length === 2);
    expect(bench.shown).toEqual(['1:0', 'dropped from 1: contradiction']);
    const streams = bench.source.streams.map(({ name }) => name);
    expect(bench.observed).toContainEqual({ kind: 'contradiction', streams, number: 1, index: 0 });
  });

  it('drops a gap in time, without a further message', async () => {
    await using bench = await Bench.start(1);
    await bench.open();
    bench.source.setHead({ number: 0, hash: hashAfter(0) });
    await bench.come({ number: 1, index: 0 });
    await bench.come({ number: 1, index: 2 });
    bench.clock.advance(DEFAULT_FLASHBLOCK_OPTIONS.sequence.gapMs);
    await bench.until(() => bench.events.length === 2);
    expect(bench.shown).toEqual(['1:0', 'dropped from 1: gap']);
  });

  it('says when all is silent, connects again, and goes on at the next index 0', async () => {
    await using bench = await Bench.start(1);
    await bench.open();
    bench.source.setHead({ number: 0, hash: hashAfter(0) });
    await bench.come({ number: 1, index: 0 });
    bench.clock.advance(silenceMs);
    await bench.until(() => bench.events.length === 2);
    expect(bench.source.streams).toMatchObject([{ state: 'silent' }]);
    await bench.clock.armed((ms) => ms === DEFAULT_FLASHBLOCK_OPTIONS.stream.reconnect.firstMs / 2);
    bench.clock.advance(100);
    await bench.until(() => bench.servers[0]?.sockets.length === 2);
    await bench.come({ number: 1, index: 1 });
    bench.source.setHead({ number: 1, hash: hashAfter(1) });
    await bench.come({ number: 2, index: 0 });
    await bench.until(() => bench.events.length === 3);
    expect(bench.shown).toEqual(['1:0', 'dropped from 1: silence', '2:0']);
    expect(bench.source.streams).toMatchObject([{ state: 'live' }]);
  });

  it('goes on without a hole after a connection that was cut', async () => {
    await using bench = await Bench.start(1);
    await bench.open();
    bench.source.setHead({ number: 0, hash: hashAfter(0) });
    await bench.come({ number: 1, index: 0 });
    // Each time after the shortest pause, because flashblocks came in between.
    for (const index of [1, 2]) {
      bench.servers[0]?.sockets.at(-1)?.cut();
      await bench.until(() => bench.source.streams[0]?.state === 'lost');
      await bench.clock.armed((ms) => ms === 50);
      bench.clock.advance(50);
      await bench.until(() => bench.servers[0]?.sockets.length === index + 1);
      await bench.come({ number: 1, index });
    }
    await bench.until(() => bench.events.length === 3);
    expect(bench.shown).toEqual(['1:0', '1:1', '1:2']);
  });

  it('takes a stream of garbage for silent', async () => {
    await using bench = await Bench.start(1);
    await bench.open();
    await bench.send('garbage');
    bench.clock.advance(silenceMs - 1);
    await bench.send('{}');
    expect(bench.observed.filter(({ kind }) => kind === 'undecodable')).toMatchObject([
      { code: 'notJson' },
      { code: 'malformed' },
    ]);
    bench.clock.advance(1);
    expect(bench.source.streams).toMatchObject([{ messages: 2, undecodable: 2 }]);
    await bench.until(() => bench.source.streams[0]?.state === 'silent');
  });

  it('drops everything when nobody takes it, and starts over', async () => {
    await using bench = await Bench.start(1, { maxQueuedEvents: 2 });
    const { source } = bench;
    const abort = new AbortController();
    const events = source.events(abort.signal);
    const first = events.next();
    source.setHead({ number: 0, hash: hashAfter(0) });
    await bench.until(() => bench.servers[0]?.sockets.length === 1);
    await bench.come({ number: 1, index: 0 });
    expect((await first).value).toMatchObject({ kind: 'flashblock', flashblock: { index: 0 } });
    // One step passes on four, and there is room for two: nothing of it may come after the drop.
    for (const index of [2, 3, 4, 1]) await bench.come({ number: 1, index });
    expect((await events.next()).value).toEqual({ kind: 'dropped', reason: 'overrun', from: 1 });
    await bench.come({ number: 1, index: 5 });
    source.setHead({ number: 1, hash: hashAfter(1) });
    await bench.come({ number: 2, index: 0 });
    expect((await events.next()).value).toMatchObject({ flashblock: { blockNumber: 2, index: 0 } });
    const ended = events.next();
    abort.abort();
    expect(await ended).toMatchObject({ done: true });
  });

  it('takes back a block that was refused', async () => {
    await using bench = await Bench.start(1);
    await bench.open();
    bench.source.setHead({ number: 0, hash: hashAfter(0) });
    await bench.come({ number: 1, index: 0 });
    await bench.until(() => bench.events.length === 1);
    const [event] = bench.events;
    if (event?.kind === 'flashblock') bench.source.refuse(event.flashblock.payloadId);
    await bench.until(() => bench.events.length === 2);
    expect(bench.shown).toEqual(['1:0', 'dropped from 1: refused']);
  });
});
