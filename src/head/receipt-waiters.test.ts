import { describe, expect, it } from 'vitest';
import { FakeChain } from '../../test/support/serve/head.ts';
import { OverloadedError } from '../primitives/errors.ts';
import { toHex } from '../primitives/hex.ts';
import { ReceiptWaiters } from './receipt-waiters.ts';

const NEVER = new AbortController().signal;

/** A chain, its head, and a flashblock of the next block with one transaction. */
async function setUp(max = 8) {
  const chain = new FakeChain().add(0).add(0);
  const head = await chain.head();
  const event = chain.flashblock({ number: 2, index: 0 });
  const [receipt] = event.flashblock.outcome.receipts;
  if (receipt === undefined) throw new Error('the flashblock has no transaction');
  return {
    chain,
    head,
    event,
    hash: toHex(receipt.transactionHash),
    waiters: new ReceiptWaiters(head, { max }),
  };
}

describe('those who wait for a receipt', () => {
  it('get it with the flashblock that has it', async () => {
    const { head, event, hash, waiters } = await setUp();
    using waitPlace = waiters.take('a');
    const wait = waitPlace.expect(hash);
    using anotherPlace = waiters.take('a');
    const another = anotherPlace.expect(hash);
    const reads = [wait.read(60_000, NEVER), another.read(60_000, NEVER)];
    await head.apply(event);
    waiters.hear(event);
    for (const found of await Promise.all(reads)) {
      expect(JSON.parse(found?.json ?? '')).toMatchObject({ transactionHash: hash, blockNumber: '0x2' });
      expect(found?.snapshot).toBe(head.snapshot());
    }
  });

  it('get one that was there before they asked', async () => {
    const { head, event, hash, waiters } = await setUp();
    await head.apply(event);
    using waitPlace = waiters.take('a');
    const wait = waitPlace.expect(hash);
    expect(await wait.read(60_000, NEVER)).toBeDefined();
  });

  it('miss nothing between beginning to wait and reading', async () => {
    const { head, event, hash, waiters } = await setUp();
    using waitPlace = waiters.take('a');
    const wait = waitPlace.expect(hash);
    await head.apply(event);
    waiters.hear(event);
    expect(await wait.read(60_000, NEVER)).toBeDefined();
  });

  it('go on waiting when it is taken back before they read it', async () => {
    const { chain, head, event, hash, waiters } = await setUp();
    using waitPlace = waiters.take('a');
    const wait = waitPlace.expect(hash);
    const read = wait.read(60_000, NEVER);
    // They hear of it, but it is not to be read any more.
    waiters.hear(event);
    await Promise.resolve();
    const again = chain.flashblock({ number: 2, index: 0, payloadId: 'b' });
    await head.apply(again);
    waiters.hear(again);
    expect((await read)?.snapshot).toBe(head.snapshot());
  });

  it('are told nothing when the time is over, or they went away', async () => {
    const { hash, waiters } = await setUp();
    using waitPlace = waiters.take('a');
    const wait = waitPlace.expect(hash);
    expect(await wait.read(1, NEVER)).toBeUndefined();
    const gone = new AbortController();
    const read = wait.read(60_000, gone.signal);
    gone.abort();
    expect(await read).toBeUndefined();
  });

  it('are no more than may be', async () => {
    const { hash, waiters } = await setUp(2);
    {
      using waitPlace = waiters.take('a');
      const wait = waitPlace.expect(hash);
      expect(() => waiters.take('a')).toThrow(OverloadedError);
      expect(await wait.read(1, NEVER)).toBeUndefined();
    }
    expect(waiters.count).toBe(0);
    waiters.take('a')[Symbol.dispose]();
  });

  it('leave places for others', async () => {
    const { waiters } = await setUp(8);
    const waits = Array.from({ length: 4 }, () => waiters.take('many'));
    expect(() => waiters.take('many')).toThrow(OverloadedError);
    waiters.take('another')[Symbol.dispose]();
    for (const wait of waits) wait[Symbol.dispose]();
    expect(waiters.count).toBe(0);
  });
});
