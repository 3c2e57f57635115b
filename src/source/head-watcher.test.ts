import { describe, expect, it, onTestFinished } from 'vitest';
import type { Hex } from '../primitives/hex.ts';
import type { SourceEvent } from './events.ts';
import {
  answerTo,
  callsOf,
  type FakeServer,
  type FakeSocket,
  ManualClock,
  RpcFault,
  startFakeServer,
} from './fixture.ts';
import type { HeadEvent } from './interface.ts';
import { DEFAULT_SOURCE_OPTIONS } from './options.ts';
import { RpcSource } from './rpc-source.ts';

// A scripted chain: real ones do not stop announcing, cut connections or go back to an old head when told to.
const hashOf = (name: string): Hex => `0x${Buffer.from(name).toString('hex').padStart(64, '0')}`;
const header = (number: number, name = `b${number}`): object => ({
  number: `0x${number.toString(16)}`,
  hash: hashOf(name),
  parentHash: hashOf(`b${number - 1}`),
});

interface FakeChain {
  readonly server: FakeServer;
  head: object;
  /** Makes a new head and tells every subscriber. */
  announce(head: object): void;
  subscriptions: number;
}

async function fakeChain(
  offers: { readonly subscriptions: boolean } = { subscriptions: true },
): Promise<FakeChain> {
  const subscribers = new Set<FakeSocket>();
  const answer = (text: string): string =>
    answerTo(text, ({ method }) => {
      if (method !== 'eth_subscribe') return chain.head;
      if (!offers.subscriptions) throw new RpcFault(-32601, 'method not found');
      chain.subscriptions += 1;
      return '0xcafe';
    });
  const server = await startFakeServer({
    http: (body) => ({ body: answer(body) }),
    ws: (text, socket) => {
      socket.send(answer(text));
      if (callsOf(text)[0]?.method === 'eth_subscribe') subscribers.add(socket);
    },
  });
  onTestFinished(() => server.stop());
  const chain: FakeChain = {
    server,
    head: header(1),
    subscriptions: 0,
    announce(head) {
      chain.head = head;
      const params = { subscription: '0xcafe', result: head };
      for (const socket of subscribers)
        socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }));
    },
  };
  return chain;
}

interface Watched {
  readonly source: RpcSource;
  readonly clock: ManualClock;
  readonly heads: AsyncIterator<HeadEvent>;
  readonly events: SourceEvent[];
  readonly abort: AbortController;
  next(): Promise<HeadEvent | undefined>;
  seen(kind: SourceEvent['kind'], state?: string): Promise<void>;
}

function watch(urls: readonly string[]): Watched {
  const clock = new ManualClock();
  const abort = new AbortController();
  const events: SourceEvent[] = [];
  const waiting: (() => void)[] = [];
  const observe = (event: SourceEvent): void => {
    events.push(event);
    for (const wake of waiting.splice(0)) wake();
  };
  const source = new RpcSource(urls, DEFAULT_SOURCE_OPTIONS, { clock, observe, random: () => 0 });
  onTestFinished(() => source.close());
  const heads = source.heads(abort.signal)[Symbol.asyncIterator]();
  return {
    source,
    clock,
    heads,
    events,
    abort,
    next: async () => ((await heads.next()) as IteratorYieldResult<HeadEvent> | { value: undefined }).value,
    async seen(kind, state) {
      const matches = (event: SourceEvent): boolean =>
        event.kind === kind && (state === undefined || (event.kind === 'watch' && event.state === state));
      while (!events.some(matches)) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}

describe('HeadWatcher', () => {
  it('polls over HTTP, and gives each head once', async () => {
    const chain = await fakeChain();
    const { next, clock, heads, abort } = watch([chain.server.http]);
    expect(await next()).toMatchObject({ number: 1, hash: hashOf('b1'), parentHash: hashOf('b0') });
    const second = next();
    for (const requests of [2, 3]) {
      await clock.armed((left) => left === 500);
      clock.advance(500);
      await chain.server.arrived(requests);
    }
    chain.head = header(2);
    await clock.armed((left) => left === 500);
    clock.advance(500);
    expect(await second).toMatchObject({ number: 2 });
    abort.abort();
    expect(await heads.next()).toMatchObject({ done: true });
  });

  it('listens over WebSocket', async () => {
    const chain = await fakeChain();
    const { next, seen } = watch([chain.server.ws]);
    expect(await next()).toMatchObject({ number: 1 });
    await seen('watch', 'subscribed');
    for (const number of [2, 3]) {
      chain.announce(header(number));
      expect(await next()).toMatchObject({ number });
    }
    // One subscription, one look at the head of then: nothing else.
    expect(chain.server.received).toHaveLength(2);
  });

  it('polls a WebSocket that offers no subscriptions', async () => {
    const chain = await fakeChain({ subscriptions: false });
    const { next, clock, events } = watch([chain.server.ws]);
    const first = next();
    await clock.armed((left) => left === 0);
    clock.advance(0);
    expect(await first).toMatchObject({ number: 1 });
    chain.head = header(2);
    await clock.armed((left) => left === 500);
    clock.advance(500);
    expect(await next()).toMatchObject({ number: 2 });
    expect(events).toContainEqual(expect.objectContaining({ kind: 'watch', state: 'polling' }));
  });

  it('connects again with a pause, and catches up on what it missed', async () => {
    const chain = await fakeChain();
    const { next, clock, seen } = watch([chain.server.ws]);
    expect(await next()).toMatchObject({ number: 1 });
    chain.head = header(2);
    chain.server.sockets[0]?.cut();
    await seen('watch', 'lost');
    await clock.armed((left) => left === 125);
    clock.advance(125);
    expect(await next()).toMatchObject({ number: 2 });
    expect(chain.subscriptions).toBe(2);
  });

  it('asks when it hears nothing, and connects again if there was something', async () => {
    const chain = await fakeChain();
    const { next, clock, seen, events } = watch([chain.server.ws]);
    expect(await next()).toMatchObject({ number: 1 });
    clock.advance(30_000);
    await chain.server.arrived(3);
    // Silent because nothing happened: all is well.
    await clock.armed((left) => left === 30_000);
    expect(events).not.toContainEqual(expect.objectContaining({ state: 'stale' }));
    chain.head = header(2);
    clock.advance(30_000);
    expect(await next()).toMatchObject({ number: 2 });
    await seen('watch', 'stale');
    await clock.armed((left) => left === 500);
    clock.advance(500);
    await chain.server.arrived(6);
    expect(chain.server.sockets).toHaveLength(2);
  });

  it('connects again when a subscription is never confirmed', async () => {
    let asked = 0;
    const server = await startFakeServer({
      ws: (text, socket) => {
        const silent = callsOf(text)[0]?.method === 'eth_subscribe' && asked++ === 0;
        if (!silent)
          socket.send(answerTo(text, ({ method }) => (method === 'eth_subscribe' ? '0xcafe' : header(1))));
      },
    });
    onTestFinished(() => server.stop());
    const { next, clock, seen } = watch([server.ws]);
    const first = next();
    await server.arrived(1);
    clock.advance(30_000);
    expect(await first).toMatchObject({ number: 1 });
    await clock.armed((left) => left === 500);
    clock.advance(500);
    await seen('watch', 'subscribed');
    expect(server.sockets).toHaveLength(2);
  });

  it('gives a slow consumer the newest head only', async () => {
    const chain = await fakeChain();
    const { next, seen, events } = watch([chain.server.ws]);
    await next();
    for (let number = 2; number <= 50; number++) chain.announce(header(number));
    while (events.filter(({ kind }) => kind === 'head').length < 50)
      await new Promise((resolve) => setImmediate(resolve));
    await seen('coalesced');
    expect(await next()).toMatchObject({ number: 50 });
  });

  it('gives a head that several upstreams name once, and a return to an old head again', async () => {
    const [leader, follower] = [await fakeChain(), await fakeChain()];
    const { next, seen } = watch([leader.server.ws, follower.server.ws]);
    await next();
    await Promise.all([leader, follower].map(({ server }) => server.arrived(2)));
    await seen('watch', 'subscribed');
    leader.announce(header(2));
    expect(await next()).toMatchObject({ number: 2 });
    leader.announce(header(2, 'fork'));
    expect(await next()).toMatchObject({ hash: hashOf('fork') });
    follower.announce(header(2));
    follower.announce(header(2, 'fork'));
    leader.announce(header(2));
    expect(await next()).toMatchObject({ hash: hashOf('b2') });
    follower.announce(header(3));
    expect(await next()).toMatchObject({ number: 3 });
  });

  it('does not listen to a liar', async () => {
    const [liar, honest] = [await fakeChain(), await fakeChain()];
    const { next, source, events } = watch([liar.server.ws, honest.server.ws]);
    await next();
    await Promise.all([liar, honest].map(({ server }) => server.arrived(2)));
    const [name = ''] = source.status().map((status) => status.name);
    source.report(name, { item: hashOf('b1'), what: 'header' });
    liar.announce(header(9, 'lie'));
    // Answered on the same connection, so behind the announcement.
    await source.chainIds().catch(() => []);
    honest.announce(header(2));
    expect(await next()).toMatchObject({ number: 2 });
    expect(events).not.toContainEqual(expect.objectContaining({ kind: 'head', number: 9 }));
  });
});
