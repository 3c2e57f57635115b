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

// A scripted server, because no real one refuses, garbles, stalls or limits on request.
const echo = (text: string): string => answerTo(text, ({ params }) => params[0]);
const ask = (upstream: ReturnType<typeof makeUpstream>, count: number): Promise<unknown[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => upstream.request('echo', [at])));
const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

describe.each(['http', 'ws'] as const)('Upstream over %s', (transport) => {
  const serve = (answer: (body: string, at: number) => string) => {
    let at = 0;
    return startFakeServer({
      http: (body) => ({ body: answer(body, at++) }),
      ws: (text, socket) => socket.send(answer(text, at++)),
    });
  };

  it('sends calls of one turn together, within limits, and matches answers in any order', async () => {
    await using server = await serve((body) => {
      const answers: unknown = JSON.parse(echo(body));
      return JSON.stringify(Array.isArray(answers) ? answers.reverse() : answers);
    });
    const upstream = makeUpstream(server[transport], { maxBatchCalls: 4 });
    expect(await ask(upstream, 10)).toEqual(numbers(10));
    expect(server.received.map((text) => callsOf(text).length)).toEqual([4, 4, 2]);
    upstream.close();
  });

  it('bounds the bytes of a batch', async () => {
    await using server = await serve(echo);
    const upstream = makeUpstream(server[transport], { maxBatchBytes: 1_000 });
    const long = 'x'.repeat(600);
    expect(await Promise.all([upstream.request('echo', [long]), upstream.request('echo', [long])])).toEqual([
      long,
      long,
    ]);
    expect(server.received).toHaveLength(2);
    upstream.close();
  });

  it.each([
    [
      'an error object',
      () => ({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid Request' } }),
    ],
    [
      'method not found',
      () => ({ jsonrpc: '2.0', id: null, error: { code: -32601, message: 'Method not found' } }),
    ],
  ])('goes single for a while when a batch is refused with %s', async (_, refusal) => {
    let refuses = true;
    await using server = await serve((body) =>
      refuses && body.startsWith('[') ? JSON.stringify(refusal()) : echo(body),
    );
    const clock = new ManualClock();
    const upstream = makeUpstream(server[transport], {}, { clock });
    expect(await ask(upstream, 5)).toEqual(numbers(5));
    expect(upstream.batchCalls).toBe(1);
    expect(await ask(upstream, 5)).toEqual(numbers(5));
    const batches = (): number => server.received.filter((text) => text.startsWith('[')).length;
    expect(batches()).toBe(1);
    expect(upstream.supports('echo')).toBe(true);
    clock.advance(300_000);
    expect(await ask(upstream, 5)).toEqual(numbers(5));
    expect([batches(), upstream.batchCalls]).toEqual([2, 1]);
    refuses = false;
    clock.advance(600_000);
    expect(await ask(upstream, 5)).toEqual(numbers(5));
    expect([batches(), upstream.batchCalls]).toEqual([3, 100]);
    upstream.close();
  });

  it('halves batches that are too large, in the way geth says it', async () => {
    await using server = await serve((body) => {
      const calls = callsOf(body);
      if (calls.length <= 3) return echo(body);
      return JSON.stringify([
        { jsonrpc: '2.0', id: calls[0]?.id, error: { code: -32600, message: 'batch too large' } },
      ]);
    });
    const upstream = makeUpstream(server[transport], { maxInFlight: 1 });
    expect(await ask(upstream, 12)).toEqual(numbers(12));
    expect(upstream.batchCalls).toBe(3);
    upstream.close();
  });

  it('splits a batch whose answer is larger than we take, and gives up on a single one', async () => {
    await using server = await serve((body) =>
      answerTo(body, ({ params: [size] }) => 'x'.repeat(Number(size))),
    );
    const upstream = makeUpstream(server[transport], { maxResponseBytes: 1_000 });
    const [small, , large] = await Promise.allSettled([
      upstream.request('fill', [400]),
      upstream.request('fill', [500]),
      upstream.request('fill', [2_000]),
    ]);
    expect(small).toMatchObject({ status: 'fulfilled' });
    expect(large).toMatchObject({ reason: { type: { code: 'tooLarge' }, retryable: false } });
    expect(upstream.batchCalls).toBe(100);
    upstream.close();
  });

  it('sends what follows the chain first, and keeps a place for it', async () => {
    const hung = Promise.withResolvers<void>();
    await using server = await startFakeServer({
      http: async (body) => {
        if (callsOf(body)[0]?.method === 'slow') await hung.promise;
        return { body: echo(body) };
      },
      ws: (text, socket) => {
        const isSlow = callsOf(text)[0]?.method === 'slow';
        void (isSlow ? hung.promise : Promise.resolve()).then(() => socket.send(echo(text)));
      },
    });
    const limits = { maxInFlight: 4, maxBatchCalls: 1, maxQueuedCalls: 10 };
    const upstream = makeUpstream(server[transport], limits);
    const slow = numbers(10).map((at) => upstream.request('slow', [at], undefined, { forRequest: true }));
    // Three of four are for requests, and the others of them wait.
    await server.arrived(3);
    expect(await upstream.request('echo', ['urgent'])).toBe('urgent');
    expect(server.received).toHaveLength(4);
    expect(await upstream.request('echo', ['again'])).toBe('again');
    hung.resolve();
    expect(await Promise.all(slow)).toEqual(numbers(10));
    upstream.close();
  });

  it('fails what was left out of a batch, and nothing else', async () => {
    await using server = await serve((body) =>
      JSON.stringify((JSON.parse(echo(body)) as { result: number }[]).filter(({ result }) => result !== 1)),
    );
    const upstream = makeUpstream(server[transport]);
    const [zero, one, two] = await Promise.allSettled(numbers(3).map((at) => upstream.request('echo', [at])));
    expect([zero?.status, one?.status, two?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(one).toMatchObject({ reason: { type: { code: 'garbage' }, retryable: true } });
    upstream.close();
  });

  it('remembers a method that is not offered, and asks again later', async () => {
    let offers = false;
    await using server = await serve((body) =>
      answerTo(body, () => {
        if (offers) return 'offered';
        throw new RpcFault(-32601, 'the method debug_x does not exist/is not available');
      }),
    );
    const clock = new ManualClock();
    const upstream = makeUpstream(server[transport], {}, { clock });
    const refused = async (): Promise<void> => {
      const failure = await rejection(upstream.request('debug_x', []));
      expect(failure).toMatchObject({ type: { code: 'unsupported' } });
    };
    await refused();
    await refused();
    expect(server.received).toHaveLength(1);
    clock.advance(300_000);
    await refused();
    offers = true;
    clock.advance(300_000);
    await refused();
    expect(server.received).toHaveLength(2);
    clock.advance(300_000);
    expect(await upstream.request('debug_x', [])).toBe('offered');
    upstream.close();
  });

  it('times out', async () => {
    await using server = await startFakeServer({});
    const clock = new ManualClock();
    const upstream = makeUpstream(server[transport], { timeoutMs: 7_000 }, { clock });
    const failed = rejection(upstream.request('echo', []));
    await server.arrived(1);
    clock.advance(7_000);
    expect(await failed).toMatchObject({ type: { code: 'timeout' }, retryable: true });
    upstream.close();
  });

  it('gives up a request that nobody waits for, but not one that somebody does', async () => {
    await using server = await startFakeServer({});
    const outcomes: string[] = [];
    let ended = (): void => {};
    const over = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const upstream = makeUpstream(
      server[transport],
      {},
      {
        observe: ({ outcome }) => {
          outcomes.push(outcome);
          ended();
        },
      },
    );
    const [first, second] = [new AbortController(), new AbortController()];
    const both = [first, second].map(({ signal }) => rejection(upstream.request('echo', [], signal)));
    await server.arrived(1);
    first.abort(new Error('first'));
    expect(await both[0]).toMatchObject({ message: 'first' });
    expect(outcomes).toEqual([]);
    second.abort(new Error('second'));
    expect(await both[1]).toMatchObject({ message: 'second' });
    await over;
    expect(outcomes).toEqual(['aborted']);
    upstream.close();
  });

  it('refuses more calls than may wait', async () => {
    await using server = await startFakeServer({});
    const upstream = makeUpstream(server[transport], { maxQueuedCalls: 2 });
    const calls = numbers(3).map((at) => rejection(upstream.request('echo', [at])));
    expect(await calls[2]).toMatchObject({ type: { code: 'busy' }, retryable: true });
    upstream.close();
    expect(await calls[0]).toMatchObject({ type: { code: 'unreachable' } });
  });
});
