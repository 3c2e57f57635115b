import { createPublicClient } from 'viem';
import { expect, it } from 'vitest';
import { ChainPosition } from './position.ts';
import { BehindError, chainQueryHttp } from './transport.ts';

/** Answers `eth_blockNumber` from heads that are given one after the other, and keeps what was asked for at least. */
function nodes(...views: readonly [head: number, pending: string][]) {
  const asked: (string | null)[] = [];
  const fetchFn = async (_input: unknown, init?: RequestInit): Promise<Response> => {
    asked.push(new Headers(init?.headers).get('x-chain-at-least'));
    const [head, pending] = views[asked.length - 1] ?? [0, 'none'];
    const headers = {
      'x-chain-head': `${head};0x00`,
      'x-chain-pending': pending,
      'content-type': 'application/json',
    };
    return Response.json({ jsonrpc: '2.0', id: 1, result: `0x${head.toString(16)}` }, { headers });
  };
  return { asked, fetchFn };
}

const read = (client: ReturnType<typeof createPublicClient>) => client.getBlockNumber({ cacheTime: 0 });

it('asks for at least what it has seen (B3)', async () => {
  const { asked, fetchFn } = nodes([5, '6;2'], [5, '6;3'], [6, 'none'], [6, 'none']);
  const client = createPublicClient({ transport: chainQueryHttp('http://node', { fetchFn }) });
  for (let times = 0; times < 4; times += 1) await read(client);
  expect(asked).toEqual([null, '6;2', '6;3', '6']);
});

it('asks for the head where pre-confirmed blocks stand on an older one', async () => {
  const { asked, fetchFn } = nodes([5, '6;2'], [4, '6;3'], [5, '6;3']);
  const client = createPublicClient({ transport: chainQueryHttp('http://node', { fetchFn }) });
  expect([await read(client), await read(client)]).toEqual([5n, 5n]);
  expect(asked).toEqual([null, '6;2', '5']);
});

it('lets no older answer through', async () => {
  const { fetchFn } = nodes([5, 'none'], [4, 'none'], [4, 'none']);
  const client = createPublicClient({ transport: chainQueryHttp('http://node', { fetchFn, retryCount: 0 }) });
  await read(client);
  const error = await read(client).catch((failure: unknown) => failure);
  const cause = (error as { walk: (test: (inner: unknown) => boolean) => unknown }).walk(
    (inner) => inner instanceof BehindError,
  );
  expect(cause).toMatchObject({ seen: { head: 5 }, answered: { head: 4 } });
});

it('neither waits for nor repeats what is sent', async () => {
  const { asked, fetchFn } = nodes([5, 'none'], [4, 'none'], [5, 'none']);
  const client = createPublicClient({ transport: chainQueryHttp('http://node', { fetchFn }) });
  await read(client);
  await client.sendRawTransaction({ serializedTransaction: '0x00' });
  expect(asked).toEqual([null, null]);
});

it('shares a position', async () => {
  const position = new ChainPosition();
  const [one, other] = [nodes([5, 'none']), nodes([5, 'none'])];
  const [first, second] = [one, other].map(({ fetchFn }) =>
    createPublicClient({ transport: chainQueryHttp('http://node', { fetchFn, position }) }),
  );
  if (first === undefined || second === undefined) throw new Error('unreachable');
  await read(first);
  await read(second);
  expect([one.asked, other.asked]).toEqual([[null], ['5']]);
  expect(first.transport.position).toBe(position);
  expect(first.transport.url).toBe('http://node');
});

it('keeps batches of different positions apart', async () => {
  const [one, other] = [nodes([5, 'none'], [5, 'none']), nodes([7, 'none'])];
  const clients = [one, other].map(({ fetchFn }) =>
    createPublicClient({ transport: chainQueryHttp('http://node', { fetchFn, batch: true, retryCount: 0 }) }),
  );
  // What comes back is no batch, and of no interest.
  await Promise.allSettled(clients.map(read));
  expect([one.asked, other.asked]).toEqual([[null], [null]]);
});
