import { describe, expect, it, onTestFinished } from 'vitest';
import { wireMessage } from '../../../../test/support/source/flashblocks.ts';
import {
  type FakeScript,
  type FakeServer,
  type FakeSocket,
  ManualClock,
  startFakeServer,
} from '../../../../test/support/source/upstreams.ts';
import { encoded, notification, wholeBlock } from '../../../../test/support/source/whole-blocks.ts';
import { parseEndpoint } from '../../transport/endpoint.ts';
import type { FlashblockObservation } from '../events.ts';
import { DEFAULT_FLASHBLOCK_OPTIONS } from '../options.ts';
import { FlashblockStream } from '../stream.ts';
import { type FeedKind, parseFeeds } from './address.ts';
import type { FlashblockFeed } from './feed.ts';
import { PendingPolling } from './polling.ts';

const { stream: options, poll } = DEFAULT_FLASHBLOCK_OPTIONS;

async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** One source on a scripted server, by a clock that stands still. */
class Rig {
  readonly server: FakeServer;
  readonly clock = new ManualClock();
  readonly observed: FlashblockObservation[] = [];
  /** As `number:index`, or `same`. */
  readonly taken: string[] = [];
  readonly feed: FlashblockFeed;
  isWanted = true;

  private constructor(server: FakeServer, make: 'polling' | { readonly kind?: FeedKind }) {
    this.server = server;
    const modules = {
      clock: this.clock,
      random: () => 0,
      observe: (event: FlashblockObservation) => void this.observed.push(event),
      encode: (list: readonly Readonly<Record<string, unknown>>[]) => list.map(encoded),
      admits: () => this.isWanted,
      take: (flashblock: { blockNumber: number; index: number } | undefined) =>
        void this.taken.push(
          flashblock === undefined ? 'same' : `${flashblock.blockNumber}:${flashblock.index}`,
        ),
    };
    this.feed =
      make === 'polling'
        ? new PendingPolling(parseEndpoint(server.http), { ...options, ...poll }, modules)
        : new FlashblockStream(parseEndpoint(server.ws), options, modules, make.kind);
    const abort = new AbortController();
    const running = this.feed.run(abort.signal);
    onTestFinished(async () => {
      abort.abort();
      await running;
      await server.stop();
    });
  }

  static async start(make: 'polling' | { readonly kind?: FeedKind }, script: FakeScript = {}): Promise<Rig> {
    return new Rig(await startFakeServer(script), make);
  }

  async socket(): Promise<FakeSocket> {
    await until(() => this.server.sockets.length > 0);
    return this.server.sockets[0] as FakeSocket;
  }

  async pass(ms: number): Promise<void> {
    await this.clock.armed((left) => left === ms);
    this.clock.advance(ms);
  }

  async takes(count: number): Promise<string[]> {
    await until(() => this.taken.length >= count);
    return this.taken;
  }
}

const answer = (socket: FakeSocket): void => socket.send('{"jsonrpc":"2.0","id":1,"result":"0x1"}');

describe('a WebSocket shows what it is', () => {
  it('by a flashblock that nobody asked for', async () => {
    const rig = await Rig.start({});
    const socket = await rig.socket();
    socket.send(JSON.stringify(wireMessage({ number: 7, index: 0 })));
    expect(await rig.takes(1)).toEqual(['7:0']);
    expect(rig.feed.health).toMatchObject({ kind: 'raw', state: 'live' });
    rig.clock.advance(options.probeMs);
    socket.send(JSON.stringify(wireMessage({ number: 7, index: 1 })));
    expect(await rig.takes(2)).toEqual(['7:0', '7:1']);
    expect(rig.server.received).toEqual([]);
  });

  it('by whole blocks once it is asked for them', async () => {
    const rig = await Rig.start({}, { ws: (_, socket) => answer(socket) });
    const socket = await rig.socket();
    await rig.pass(options.probeMs);
    await rig.server.arrived(1);
    expect(rig.server.received[0]).toContain('"newFlashblocks"');
    socket.send(notification(wholeBlock(7, ['a'])));
    socket.send(notification(wholeBlock(7, ['a', 'b'])));
    socket.send(notification(wholeBlock(7, ['a', 'b'])));
    expect(await rig.takes(3)).toEqual(['7:0', '7:1', 'same']);
    expect(rig.feed.health).toMatchObject({ kind: 'newFlashblocks', state: 'live', undecodable: 0 });
  });

  it('or is told by its URL, and asked at once', async () => {
    const rig = await Rig.start({ kind: 'newFlashblocks' }, { ws: (_, socket) => answer(socket) });
    await rig.server.arrived(1);
    const socket = await rig.socket();
    socket.send(notification(wholeBlock(7, ['a'], { receiptsRoot: null })));
    expect(await rig.takes(1)).toEqual(['7:0']);
    expect(rig.feed.health.isVerified).toBe(false);
    expect(rig.observed).toContainEqual({ kind: 'unverified', stream: rig.feed.name });
  });

  it('and is left alone for longer where it has no such thing', async () => {
    const rig = await Rig.start(
      { kind: 'newFlashblocks' },
      {
        ws: (_, socket) =>
          socket.send('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such subscription"}}'),
      },
    );
    await until(() => rig.observed.some(({ kind }) => kind === 'stream'));
    expect(rig.observed.at(-1)).toMatchObject({
      state: 'lost',
      reason: expect.stringMatching(/no such subscription; its http URL can be polled/),
    });
    await rig.clock.armed((left) => left === options.afterGarbage.firstMs / 2);
  });

  it('cuts who sends blocks that are none', async () => {
    const rig = await Rig.start({ kind: 'newFlashblocks' });
    const socket = await rig.socket();
    for (let at = 0; at < options.maxUndecodable; at++) socket.send(notification({ number: '0x7' }));
    await until(() => !socket.isOpen);
    expect(rig.feed.health).toMatchObject({ state: 'lost', undecodable: options.maxUndecodable });
  });

  it('numbers flashblocks as a node does that says which they are', async () => {
    const rig = await Rig.start({ kind: 'newFlashblocks' });
    const socket = await rig.socket();
    const say = (names: string, payloadId: unknown, index: unknown): void =>
      socket.send(notification(wholeBlock(7, names.split('')), { payloadId, index }));
    // In the middle of a block: what it has comes as index 0.
    say('ab', 'one', 2);
    expect((await rig.takes(3)).splice(0)).toEqual(['7:0', '7:1', '7:2']);
    say('abc', 'one', 3);
    expect((await rig.takes(1)).splice(0)).toEqual(['7:3']);
    // One without transactions, and one that is late.
    say('abc', 'one', 4);
    say('ab', 'one', 2);
    expect((await rig.takes(3)).splice(0)).toEqual(['same', '7:4', 'same']);
    // Built again, with nothing else in it so far.
    say('ab', 'two', 0);
    say('abc', 'two', 2);
    expect((await rig.takes(3)).splice(0)).toEqual(['7:0', '7:1', '7:2']);
    // What makes no sense is not followed.
    say('abcd', 'two', 1e9);
    say('abcde', 'two', -1);
    say('abcdef', 3, 'x');
    expect((await rig.takes(3)).splice(0)).toEqual(['7:3', '7:0', '7:1']);
    expect(rig.feed.health.undecodable).toBe(0);
  });

  it('begins a block anew when it is wanted again', async () => {
    const rig = await Rig.start({ kind: 'newFlashblocks' });
    const socket = await rig.socket();
    socket.send(notification(wholeBlock(7, ['a'])));
    await rig.takes(1);
    rig.isWanted = false;
    socket.send(notification(wholeBlock(7, ['a', 'b'])));
    await rig.takes(2);
    rig.isWanted = true;
    socket.send(notification(wholeBlock(7, ['a', 'b', 'c'])));
    expect(await rig.takes(3)).toEqual(['7:0', 'same', '7:0']);
  });
});

describe('polling', () => {
  const blocks = [['a'], ['a'], ['a', 'b'], ['x']].map((names) => wholeBlock(7, names));
  const answered = (result: unknown) => ({ body: JSON.stringify({ jsonrpc: '2.0', id: 1, result }) });

  it('asks again and again, and tells what is new', async () => {
    const rig = await Rig.start('polling', { http: (_, at) => answered(blocks[at] ?? blocks[3]) });
    for (let count = 1; count < 5; count++) {
      await rig.takes(count);
      await rig.pass(poll.intervalMs);
    }
    expect((await rig.takes(5)).slice(0, 5)).toEqual(['7:0', 'same', '7:1', '7:0', 'same']);
    expect(JSON.parse(rig.server.received[0] ?? '')).toMatchObject({
      method: 'eth_getBlockByNumber',
      params: ['pending', true],
    });
    expect(rig.feed.health).toMatchObject({ kind: 'polling', state: 'live' });
    rig.clock.advance(options.silenceMs + 1);
    expect(rig.feed.health.state).not.toBe('live');
  });

  it.each([
    ['a rate limit', { status: 429, headers: { 'retry-after': '7' }, body: '' }, 7_000],
    ['an error', { status: 503, body: '' }, poll.intervalMs],
    ['no block', answered(null), options.afterGarbage.firstMs / 2],
    [
      'no such method',
      { body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":""}}' },
      options.afterGarbage.firstMs / 2,
    ],
    ['no JSON', { body: '<html>' }, options.afterGarbage.firstMs / 2],
  ] as const)('asks less often after %s', async (_, reply, pauseMs) => {
    const rig = await Rig.start('polling', { http: (_body, at) => (at === 0 ? reply : answered(blocks[0])) });
    await rig.pass(pauseMs);
    expect(await rig.takes(1)).toEqual(['7:0']);
    expect(rig.observed.filter(({ kind }) => kind === 'stream')).toMatchObject([
      { state: 'lost' },
      { state: 'connected', feed: 'polling' },
    ]);
  });
});

it('takes kinds from URLs', () => {
  const kinds = parseFeeds(['ws://a', 'raw+wss://b', 'rpc+ws://c/key', 'https://d']).map(
    ({ kind, endpoint }) => `${kind} ${endpoint.name}`,
  );
  expect(kinds).toEqual([
    'undefined ws://a',
    'raw wss://b',
    'newFlashblocks ws://c/***',
    'polling https://d',
  ]);
});
