import { describe, expect, test } from 'vitest';
import type { HeadEvent } from '../../src/source/interface.ts';
import type { SourceEvent } from '../../src/source/pool/events.ts';
import { DEFAULT_SOURCE_OPTIONS, type SourceOptions } from '../../src/source/pool/options.ts';
import { RpcSource } from '../../src/source/rpc-source.ts';
import { startGate, startLiveAnvil, startLiveGeth } from '../support/servers/live-chain.ts';
import { request } from '../support/servers/rpc-client.ts';
import { owner } from '../support/workload/token.ts';

const options: SourceOptions = {
  ...DEFAULT_SOURCE_OPTIONS,
  watch: { pollMs: 20, staleMs: 2_000, reconnect: { firstMs: 20, maxMs: 200 } },
};
const servers = { geth: startLiveGeth, anvil: startLiveAnvil } as const;
const cases = (['geth', 'anvil'] as const).flatMap((server) =>
  (['http', 'ws'] as const).map((transport) => ({ server, transport })),
);

/** Listens to the heads of a source with one upstream. */
class Heads {
  readonly #waiting: HeadEvent[] = [];
  readonly #abort = new AbortController();
  readonly #watching: Promise<void>;
  #last: HeadEvent | undefined;
  #wake = (): void => {};

  constructor(source: RpcSource) {
    const onHead = (head: HeadEvent): void => {
      if (head.hash !== this.#last?.hash) this.#waiting.push(head);
      this.#last = head;
      this.#wake();
    };
    this.#watching = source.watch({ onHead, onLost: () => {} }, this.#abort.signal);
  }

  /** The next one that is another than the one before. */
  async next(): Promise<HeadEvent> {
    for (let head = this.#waiting.shift(); ; head = this.#waiting.shift()) {
      if (head !== undefined) return head;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Takes heads until one is at least as high as `number`. */
  async takeUntil(number: number): Promise<readonly HeadEvent[]> {
    const taken = [await this.next()];
    while ((taken.at(-1)?.number ?? -1) < number) taken.push(await this.next());
    return taken;
  }

  end(): Promise<void> {
    this.#abort.abort();
    return this.#watching;
  }
}

describe.each(cases)('heads of $server over $transport', ({ server, transport }) => {
  test('come in order, and end when told to', async () => {
    await using chain = await servers[server]();
    const source = new RpcSource([chain[transport]], options);
    const heads = new Heads(source);
    await heads.next();
    const seen = new Set<string>();
    for (let round = 0; round < 10; round++) {
      const { blockNumber } = await chain.send({ to: owner.address });
      const taken = await heads.takeUntil(Number(blockNumber));
      for (const { number, hash, parentHash, upstream } of taken) {
        expect(seen.has(hash)).toBe(false);
        seen.add(hash);
        expect(await request(chain.http, 'eth_getBlockByHash', [hash, false])).toMatchObject({
          number: `0x${number.toString(16)}`,
          parentHash,
        });
        expect(upstream).toBe(chain[transport]);
      }
    }
    await heads.end();
    source.close();
  });
});

test.each(['http', 'ws'] as const)(
  'a geth that is killed and comes back is followed again over %s',
  async (transport) => {
    await using chain = await startLiveGeth();
    const events: SourceEvent[] = [];
    const source = new RpcSource([chain[transport]], options, { observe: (event) => events.push(event) });
    const heads = new Heads(source);
    const before = await chain.send({ to: owner.address });
    await heads.takeUntil(Number(before.blockNumber));
    await chain.kill();
    await expect(source.head()).rejects.toMatchObject({ type: { code: 'unreachable' }, retryable: true });
    await chain.restart();
    // Killed, it has lost blocks; another transaction, or it would find the receipt of the lost one.
    const after = await chain.send({ to: owner.address, data: '0x01' });
    let head = await heads.next();
    while (head.number < Number(after.blockNumber)) head = await heads.next();
    const truth = await request<{ hash: string }>(chain.http, 'eth_getBlockByNumber', [
      `0x${head.number.toString(16)}`,
      false,
    ]);
    expect(head.hash).toBe(truth.hash);
    expect(events).toContainEqual(expect.objectContaining({ kind: 'watch', state: 'lost' }));
    await heads.end();
    source.close();
  },
);

test('a reorg of anvil shows as a new head', async () => {
  await using chain = await startLiveAnvil();
  const source = new RpcSource([chain.ws], options);
  const heads = new Heads(source);
  for (let round = 0; round < 5; round++) await chain.send({ to: owner.address });
  const [last] = (await heads.takeUntil(5)).slice(-1);
  await request(chain.http, 'anvil_reorg', [2, []]);
  const [next] = (await heads.takeUntil(5)).slice(-1);
  expect(next?.number).toBe(5);
  expect(next?.hash).not.toBe(last?.hash);
  await heads.end();
  source.close();
});

test('two upstreams: a failing one is passed over, a slow one hedged', async () => {
  await using chain = await startLiveGeth();
  await using gate = await startGate(chain.http);
  const events: SourceEvent[] = [];
  const source = new RpcSource([gate.http, chain.ws], options, { observe: (event) => events.push(event) });
  const { blockHash } = await chain.send({ to: owner.address });
  const read = async (): Promise<string> =>
    (await source.receipts(blockHash, { prefer: gate.http })).upstream;
  expect(await read()).toBe(gate.http);
  gate.state = 'held';
  expect(await read()).toBe(chain.ws);
  expect(events).toContainEqual({ kind: 'hedge', upstream: chain.ws, slow: gate.http });
  gate.state = 'closed';
  expect(await read()).toBe(chain.ws);
  expect(events).toContainEqual(
    expect.objectContaining({ kind: 'failure', upstream: gate.http, code: 'unreachable' }),
  );
  gate.state = 'open';
  expect(await read()).toBe(gate.http);
  source.report(gate.http, { item: blockHash, what: 'receipts root' });
  expect(await read()).toBe(chain.ws);
  expect((await source.head({ prefer: gate.http })).upstream).toBe(chain.ws);
  source.close();
});
