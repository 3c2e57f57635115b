import { describe, expect, it } from 'vitest';
import { answerTo, callsOf, ManualClock, makeUpstream, rejection, startFakeServer } from './fixture.ts';

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
});
