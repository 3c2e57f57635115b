import { describe, expect, it } from 'vitest';
import {
  answerTo,
  callsOf,
  ManualClock,
  makeUpstream,
  RpcFault,
  rejection,
  startFakeServer,
} from '../../../test/support/source/upstreams.ts';

// A scripted server: no real one changes its chain while it runs.
const RIGHT = 10n;

interface Told {
  readonly chainId: bigint;
  readonly isRight: boolean;
}

async function reach(transport: 'http' | 'ws') {
  const script = { chainId: '0xa', isDown: false, refusesEcho: false };
  const answer = (text: string): string =>
    answerTo(text, ({ method, params }) => {
      if (method === 'eth_chainId') return script.chainId;
      if (method === 'eth_subscribe') return '0xcafe';
      if (script.refusesEcho) throw new RpcFault(-32601, 'the method echo does not exist');
      return params[0];
    });
  const server = await startFakeServer({
    http: (body) => (script.isDown ? 'cut' : { body: answer(body) }),
    ws: (text, socket) => (script.isDown ? socket.cut() : socket.send(answer(text))),
  });
  const clock = new ManualClock();
  const told: Told[] = [];
  const upstream = makeUpstream(
    server[transport],
    {},
    { clock, onChain: (chainId, isRight) => told.push({ chainId, isRight }) },
  );
  upstream.expectChain(RIGHT);
  const methods = (): string[] => server.received.flatMap(callsOf).map(({ method }) => method);
  const refused = (): Promise<unknown> => rejection(upstream.request('echo', [1]));
  return {
    ...{ script, server, clock, told, upstream, methods, refused },
    async [Symbol.asyncDispose]() {
      upstream.close();
      await server.stop();
    },
  };
}

describe.each(['http', 'ws'] as const)('an upstream over %s', (transport) => {
  it('is asked for its chain before anything else, once for all who wait', async () => {
    await using world = await reach(transport);
    const answers = await Promise.all([1, 2, 3].map((value) => world.upstream.request('echo', [value])));
    expect(answers).toEqual([1, 2, 3]);
    expect(await world.upstream.request('echo', [4])).toBe(4);
    expect(world.methods()).toEqual(['eth_chainId', 'echo', 'echo', 'echo', 'echo']);
    expect(world.told).toEqual([]);
  });

  it('of another chain is asked nothing, until it is of the right one', async () => {
    await using world = await reach(transport);
    world.script.chainId = '0x5';
    const failure = {
      type: { code: 'otherChain' },
      message: expect.stringContaining('is of chain 5, not 10'),
    };
    expect(await world.refused()).toMatchObject(failure);
    expect(await world.refused()).toMatchObject(failure);
    expect(world.upstream.otherChain).toBe(5n);
    world.clock.advance(5_000);
    expect(await world.refused()).toMatchObject(failure);
    expect(world.methods()).toEqual(['eth_chainId', 'eth_chainId']);
    world.script.chainId = '0xa';
    world.clock.advance(5_000);
    expect(await world.upstream.request('echo', [1])).toBe(1);
    expect(world.upstream.otherChain).toBeUndefined();
    expect(world.told).toEqual([
      { chainId: 5n, isRight: false },
      { chainId: 10n, isRight: true },
    ]);
  });

  it('that comes back from an outage as another one is found out before it is used', async () => {
    await using world = await reach(transport);
    expect(await world.upstream.request('echo', [1])).toBe(1);
    world.script.isDown = true;
    expect(await world.refused()).toMatchObject({ type: { code: 'unreachable' } });
    world.script.isDown = false;
    world.script.chainId = '0x5';
    expect(await world.refused()).toMatchObject({ type: { code: 'otherChain' } });
    expect(world.methods().slice(-1)).toEqual(['eth_chainId']);
  });

  it('is asked again now and then', async () => {
    await using world = await reach(transport);
    expect(await world.upstream.request('echo', [1])).toBe(1);
    world.script.chainId = '0x5';
    world.clock.advance(59_999);
    expect(await world.upstream.request('echo', [1])).toBe(1);
    world.clock.advance(1);
    expect(await world.refused()).toMatchObject({ type: { code: 'otherChain' } });
  });

  it('is asked anew for what it refused once it was away', async () => {
    await using world = await reach(transport);
    world.script.refusesEcho = true;
    expect(await world.refused()).toMatchObject({ type: { code: 'unsupported' } });
    world.script.refusesEcho = false;
    expect(await world.refused()).toMatchObject({ type: { code: 'unsupported' } });
    world.script.isDown = true;
    expect(await rejection(world.upstream.request('other', []))).toMatchObject({
      type: { code: 'unreachable' },
    });
    world.script.isDown = false;
    expect(await world.upstream.request('other', [2])).toBe(2);
    expect(await world.upstream.request('echo', [1])).toBe(1);
  });

  it('that gives no chain id is not used', async () => {
    await using world = await reach(transport);
    world.script.chainId = 'ten';
    expect(await world.refused()).toMatchObject({ type: { code: 'garbage' } });
    expect(world.methods()).toEqual(['eth_chainId']);
  });

  it('that does not answer is not waited for', async () => {
    await using server = await startFakeServer({});
    const clock = new ManualClock();
    const upstream = makeUpstream(server[transport], { timeoutMs: 7_000 }, { clock });
    upstream.expectChain(RIGHT);
    const failed = rejection(upstream.request('echo', []));
    await server.arrived(1);
    clock.advance(7_000);
    expect(await failed).toMatchObject({ type: { code: 'timeout' } });
    upstream.close();
  });
});

describe('a subscription', () => {
  const events = { onStart: () => {}, onEvent: () => {} };

  it('is not opened on another chain', async () => {
    await using world = await reach('ws');
    world.script.chainId = '0x5';
    const { signal } = new AbortController();
    const subscribed = world.upstream.subscribe?.(['newHeads'], events, signal);
    expect(await rejection(subscribed ?? Promise.resolve())).toMatchObject({ type: { code: 'otherChain' } });
    expect(world.methods()).toEqual(['eth_chainId']);
  });

  it('is opened on the connection that was asked, and ends with it', async () => {
    await using world = await reach('ws');
    const { promise, resolve } = Promise.withResolvers<void>();
    const { signal } = new AbortController();
    const ended = world.upstream.subscribe?.(['newHeads'], { ...events, onStart: resolve }, signal);
    await promise;
    expect(world.methods()).toEqual(['eth_chainId', 'eth_subscribe']);
    world.server.sockets[0]?.cut();
    expect(await rejection(ended ?? Promise.resolve())).toMatchObject({ type: { code: 'unreachable' } });
  });
});
