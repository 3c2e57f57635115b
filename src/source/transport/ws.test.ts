import { describe, expect, it } from 'vitest';
import {
  answerTo,
  callsOf,
  ManualClock,
  makeUpstream,
  rejection,
  startFakeServer,
} from '../../../test/support/source/upstreams.ts';

// A scripted server, because no real one cuts connections, falls silent or garbles on request.
const echo = (text: string): string => answerTo(text, ({ params }) => params[0]);
const ask = (upstream: ReturnType<typeof makeUpstream>, count: number): Promise<unknown[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => upstream.request('echo', [at])));
const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

describe('Upstream over WebSocket', () => {
  it('takes the answers of a batch one by one', async () => {
    await using server = await startFakeServer({
      ws: (text, socket) => {
        for (const answer of (JSON.parse(echo(text)) as unknown[]).reverse())
          socket.send(JSON.stringify(answer));
      },
    });
    const upstream = makeUpstream(server.ws);
    expect(await ask(upstream, 3)).toEqual(numbers(3));
    upstream.close();
  });

  it('connects again after the connection was cut, and after a peer that fell silent', async () => {
    const clock = new ManualClock();
    await using server = await startFakeServer({
      ws: (text, socket) => {
        const [call] = callsOf(text);
        if (call?.method === 'cut') socket.cut();
        else if (call?.method !== 'silence') socket.send(echo(text));
      },
    });
    const upstream = makeUpstream(server.ws, {}, { clock });
    expect(await upstream.request('echo', [1])).toBe(1);
    expect(await rejection(upstream.request('cut', []))).toMatchObject({ type: { code: 'unreachable' } });
    expect(await upstream.request('echo', [2])).toBe(2);
    const late = rejection(upstream.request('silence', []));
    await server.arrived(4);
    clock.advance(10_000);
    expect(await late).toMatchObject({ type: { code: 'timeout' } });
    expect(await upstream.request('echo', [3])).toBe(3);
    expect(server.sockets).toHaveLength(3);
    upstream.close();
  });

  it('fails what waits when a message is garbage', async () => {
    await using server = await startFakeServer({ ws: (_, socket) => socket.send('garbage') });
    const upstream = makeUpstream(server.ws);
    expect(await rejection(upstream.request('echo', []))).toMatchObject({ type: { code: 'garbage' } });
    upstream.close();
  });

  it('gives up a connection that brings nothing but garbage', async () => {
    await using server = await startFakeServer({
      ws: (text, socket) => {
        if (server.sockets.length > 1) return socket.send(echo(text));
        for (let message = 0; message < 100; message++) socket.send('garbage');
      },
    });
    const upstream = makeUpstream(server.ws);
    expect(await rejection(upstream.request('echo', []))).toMatchObject({ type: { code: 'garbage' } });
    while (server.sockets[0]?.isOpen === true) await rejection(upstream.request('echo', []));
    expect(await upstream.request('echo', [7])).toBe(7);
    upstream.close();
  });

  it('leaves no connection behind whose peer does not take part in closing it', async () => {
    const clock = new ManualClock();
    await using server = await startFakeServer({ ws: (text, socket) => socket.send(echo(text)) });
    for (let count = 1; count <= 3; count++) {
      const upstream = makeUpstream(server.ws, {}, { clock });
      expect(await upstream.request('echo', [count])).toBe(count);
      upstream.close();
      await clock.armed((ms) => ms === 2_000);
      clock.advance(2_000);
    }
    while (server.sockets.some(({ isOpen }) => isOpen)) await new Promise((resolve) => setImmediate(resolve));
  });

  it.each([
    ['brackets', '['.repeat(100_000)],
    ['empty objects', `[${'{},'.repeat(20_000)}{}]`],
  ])('does not parse many %s', async (_, answer) => {
    await using server = await startFakeServer({ ws: (_text, socket) => socket.send(answer) });
    const upstream = makeUpstream(server.ws, { maxResponseBytes: 200_000 });
    const failure = (await rejection(upstream.request('echo', []))) as Error;
    expect(failure.message).toContain('nests too deep, or holds too many values');
    upstream.close();
  });

  it('gives up on an answer that is much larger than it takes', async () => {
    await using server = await startFakeServer({
      ws: (_, socket) => socket.sendBytes(Buffer.alloc(1_000_000, 0x20)),
    });
    const upstream = makeUpstream(server.ws, { maxResponseBytes: 100_000 });
    expect(await rejection(upstream.request('echo', []))).toMatchObject({ type: { code: 'tooLarge' } });
    upstream.close();
  });
});
