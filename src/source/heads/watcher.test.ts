import { describe, expect, it, onTestFinished } from 'vitest';
import {
  answerTo,
  callsOf,
  type FakeServer,
  type FakeSocket,
  ManualClock,
  RpcFault,
  startFakeServer,
} from '../../../test/support/source/upstreams.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { HeadEvent } from '../interface.ts';
import type { SourceEvent } from '../pool/events.ts';
import { DEFAULT_SOURCE_OPTIONS } from '../pool/options.ts';
import { RpcSource } from '../rpc-source.ts';

const { staleMs: STALE_MS } = DEFAULT_SOURCE_OPTIONS.watch;

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
  readonly events: SourceEvent[];
  readonly lost: string[];
  readonly abort: AbortController;
  /** Ends with the signal. */
  readonly watching: Promise<void>;
  /** The next head that is not the one that its upstream named before. */
  next(): Promise<HeadEvent>;
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
  const named: HeadEvent[] = [];
  const lost: string[] = [];
  const last = new Map<string, Hex>();
  const listener = {
    onHead(head: HeadEvent): void {
      if (last.get(head.upstream) !== head.hash) named.push(head);
      last.set(head.upstream, head.hash);
      for (const wake of waiting.splice(0)) wake();
    },
    onLost: (upstream: string): void => void lost.push(upstream),
  };
  const watching = source.watch(listener, abort.signal);
  onTestFinished(() => abort.abort());
  return {
    source,
    clock,
    events,
    lost,
    abort,
    watching,
    async next() {
      for (let head = named.shift(); ; head = named.shift()) {
        if (head !== undefined) return head;
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    async seen(kind, state) {
      const matches = (event: SourceEvent): boolean =>
        event.kind === kind && (state === undefined || (event.kind === 'watch' && event.state === state));
      while (!events.some(matches)) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}

describe('HeadWatcher', () => {
  it('polls over HTTP, until it is told to end', async () => {
    const chain = await fakeChain();
    const { next, clock, watching, abort } = watch([chain.server.http]);
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
    await watching;
  });

  it('asks for whole blocks where looks mostly find the next one, and gives each out once', async () => {
    const chain = await fakeChain();
    const { next, clock, source } = watch([chain.server.http]);
    const wasWhole = (): unknown => callsOf(chain.server.received.at(-1) ?? '')[0]?.params[1];
    await next();
    const whole: unknown[] = [];
    for (let number = 2; number <= 8; number++) {
      chain.head = { ...header(number), transactions: [] };
      await clock.armed((left) => left === 500);
      clock.advance(500);
      expect(await next()).toMatchObject({ number });
      whole.push(wasWhole());
    }
    expect(whole).toEqual([false, false, false, true, true, true, true]);
    const requests = chain.server.received.length;
    const polled = await source.blockByHash(hashOf('b8'));
    expect(polled?.value).toEqual(chain.head);
    expect(chain.server.received).toHaveLength(requests);
    // Whoever found it false asks again.
    await source.blockByHash(hashOf('b8'));
    expect(chain.server.received).toHaveLength(requests + 1);
    // No new blocks: heads alone are enough.
    for (let looks = 1; looks <= 4; looks++) {
      await clock.armed((left) => left === 500);
      clock.advance(500);
      await chain.server.arrived(requests + 1 + looks);
    }
    expect(wasWhole()).toBe(false);
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
    const { next, clock, seen, lost } = watch([chain.server.ws]);
    expect(await next()).toMatchObject({ number: 1 });
    chain.head = header(2);
    chain.server.sockets[0]?.cut();
    await seen('watch', 'lost');
    expect(lost).toEqual([chain.server.ws]);
    await clock.armed((left) => left === 125);
    clock.advance(125);
    expect(await next()).toMatchObject({ number: 2 });
    expect(chain.subscriptions).toBe(2);
  });

  it('asks when it hears nothing, and connects again if there was something', async () => {
    const chain = await fakeChain();
    const { next, clock, seen, events } = watch([chain.server.ws]);
    expect(await next()).toMatchObject({ number: 1 });
    clock.advance(STALE_MS);
    await chain.server.arrived(3);
    // Silent because nothing happened: all is well.
    await clock.armed((left) => left === STALE_MS);
    expect(events).not.toContainEqual(expect.objectContaining({ state: 'stale' }));
    chain.head = header(2);
    clock.advance(STALE_MS);
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
    clock.advance(STALE_MS);
    expect(await first).toMatchObject({ number: 1 });
    await clock.armed((left) => left === 500);
    clock.advance(500);
    await seen('watch', 'subscribed');
    expect(server.sockets).toHaveLength(2);
  });

  it('tries announcements again where they were refused, after a while', async () => {
    const offers = { subscriptions: false };
    const chain = await fakeChain(offers);
    const { next, clock, seen, lost } = watch([chain.server.ws]);
    const first = next();
    await clock.armed((left) => left === 0);
    clock.advance(0);
    expect(await first).toMatchObject({ number: 1 });
    offers.subscriptions = true;
    await clock.armed((left) => left === 500);
    clock.advance(300_000);
    await seen('watch', 'subscribed');
    chain.announce(header(2));
    expect(await next()).toMatchObject({ number: 2 });
    expect(lost).toEqual([]);
  });

  it('tells what each upstream says, whatever the others say', async () => {
    const [one, two] = [await fakeChain(), await fakeChain()];
    const { next, source } = watch([one.server.ws, two.server.ws]);
    await next();
    await next();
    await Promise.all([one, two].map(({ server }) => server.arrived(2)));
    one.announce(header(2));
    expect(await next()).toMatchObject({ number: 2, upstream: one.server.ws });
    two.announce(header(2));
    expect(await next()).toMatchObject({ number: 2, upstream: two.server.ws });
    two.announce(header(1, 'fork'));
    expect(await next()).toMatchObject({ hash: hashOf('fork'), upstream: two.server.ws });
    expect(source.status().map(({ head }) => head)).toEqual([2, 1]);
  });

  it('says each time that an upstream names its head', async () => {
    const chain = await fakeChain();
    const { next, clock, events } = watch([chain.server.http]);
    await next();
    for (const requests of [2, 3]) {
      await clock.armed((left) => left === 500);
      clock.advance(500);
      await chain.server.arrived(requests);
    }
    await clock.armed((left) => left === 500);
    const named = events.filter(({ kind }) => kind === 'named');
    expect(named).toHaveLength(3);
    expect(named).toContainEqual(expect.objectContaining({ hash: hashOf('b1') }));
  });

  it.each(['999999999', '-5', 'Fri, 31 Dec 9999 23:59:59 GMT'])(
    'waits a minute at most for a server that says Retry-After: %s',
    async (seconds) => {
      let isLimited = true;
      await using server = await startFakeServer({
        http: (body) =>
          isLimited
            ? { status: 429, headers: { 'retry-after': seconds }, body: '' }
            : { body: answerTo(body, () => header(1)) },
      });
      const { next, clock, seen } = watch([server.http]);
      const first = next();
      await seen('watch', 'lost');
      isLimited = false;
      await clock.armed((left) => left > 0 && left <= 60_000);
      clock.advance(60_000);
      expect(await first).toMatchObject({ number: 1 });
    },
  );

  it('does not measure others by the head of a liar', async () => {
    const [liar, honest] = [await fakeChain(), await fakeChain()];
    const { next, source } = watch([liar.server.ws, honest.server.ws]);
    await next();
    await next();
    await Promise.all([liar, honest].map(({ server }) => server.arrived(2)));
    source.report(liar.server.ws, { item: hashOf('b1'), what: 'header' });
    liar.announce(header(9, 'lie'));
    // Whether it counts is for the listener to say.
    expect(await next()).toMatchObject({ number: 9 });
    expect(source.status().map(({ lag }) => lag)).toEqual([0, 0]);
  });
});
