import { describe, expect, it, vi } from 'vitest';
import { dispatcherOf, testDispatcher, textOf } from '../../../test/support/serve/dispatcher.ts';
import { FakeChain } from '../../../test/support/serve/head.ts';
import { parseAtLeast } from './at-least.ts';
import type { RpcResponse } from './response.ts';

const NUMBER = '{"jsonrpc":"2.0","id":7,"method":"eth_blockNumber"}';
const never = new AbortController().signal;
const client = 'test';

const five = (): FakeChain => new FakeChain().add(0).add(1).add(2).add(3).add(4);

function read(response: RpcResponse): readonly [number, unknown, number | undefined] {
  return [response.status, JSON.parse(textOf(response.body)), response.snapshot?.head.number];
}

describe('x-chain-at-least (B3)', () => {
  it.each([
    ['0', 0, undefined],
    ['12', 12, undefined],
    ['007', 7, undefined],
    ['12;0', 12, 0],
    ['999999999999999;999999999', 999_999_999_999_999, 999_999_999],
  ])('reads %s', (value, number, index) => {
    expect(parseAtLeast(value)).toEqual({ number, index });
  });

  it.each([
    '',
    ' ',
    '-1',
    '+1',
    '0x4',
    '1e3',
    '1.0',
    '1;',
    ';1',
    '1;2;3',
    '1, 1',
    '1 ;2',
    '1;0xab',
    '9'.repeat(16),
    '١',
  ])('refuses %j with HTTP 400 rather than ignore it', async (atLeast) => {
    const dispatcher = await testDispatcher();
    const answer = read(await dispatcher.handle(Buffer.from(NUMBER), { signal: never, client, atLeast }));
    expect(answer).toMatchObject([400, { id: null, error: { code: -32600 } }, 4]);
  });

  it.each(['0', '4', '3;9', '4;2'])('does not delay what is reached: %s', async (atLeast) => {
    const answer = (await testDispatcher()).handle(Buffer.from(NUMBER), { signal: never, client, atLeast });
    expect(answer).not.toBeInstanceOf(Promise);
    expect(read(await answer)).toMatchObject([200, { result: '0x4' }, 4]);
  });

  it.each(['6', '6;3'])('waits for %s, and answers from the snapshot that has it', async (atLeast) => {
    const chain = five();
    const head = await chain.head();
    const answer = dispatcherOf(head, { atLeastWaitMs: 60_000 }).handle(Buffer.from(NUMBER), {
      signal: never,
      client,
      atLeast,
    });
    chain.add(0);
    await head.refresh();
    chain.add(0).add(0);
    await head.refresh();
    expect(read(await answer)).toMatchObject([200, { id: 7, result: '0x7' }, 7]);
  });

  it('is -32001 for each id when it is not reached in time', async () => {
    const dispatcher = await testDispatcher({ atLeastWaitMs: 1 });
    const caller = { signal: never, client, atLeast: '5' };
    const error = {
      code: -32001,
      message: 'not reached within 0.001 s: x-chain-at-least asks for block 5, the head is block 4',
    };
    expect(read(await dispatcher.handle(Buffer.from(NUMBER), caller))).toEqual([
      200,
      { jsonrpc: '2.0', id: 7, error },
      4,
    ]);
    const batch = `[${NUMBER},{"jsonrpc":"2.0","method":"eth_chainId"},1,{"jsonrpc":"2.0","id":"b","method":"eth_chainId"}]`;
    expect(read(await dispatcher.handle(Buffer.from(batch), caller))).toMatchObject([
      200,
      [
        { id: 7, error },
        { id: null, error: { code: -32600 } },
        { id: 'b', error },
      ],
      4,
    ]);
  });

  it('waits no longer than its client', async () => {
    const dispatcher = await testDispatcher({ atLeastWaitMs: 60_000 });
    const controller = new AbortController();
    const answer = dispatcher.handle(Buffer.from(NUMBER), {
      signal: controller.signal,
      client,
      atLeast: '5',
    });
    controller.abort();
    expect(read(await answer)).toMatchObject([200, { error: { code: -32001 } }, 4]);
  });

  it('lets only so many wait', async () => {
    const chain = five();
    const head = await chain.head();
    const dispatcher = dispatcherOf(head, { atLeastWaitMs: 60_000, maxAtLeastWaiting: 1 });
    const caller = { signal: never, client, atLeast: '5' };
    const first = dispatcher.handle(Buffer.from(NUMBER), caller);
    expect(read(await dispatcher.handle(Buffer.from(NUMBER), caller))).toMatchObject([
      503,
      { id: 7, error: { code: -32005 } },
      4,
    ]);
    chain.add(0);
    await head.refresh();
    expect(read(await first)).toMatchObject([200, { result: '0x5' }, 5]);
    chain.truncate(4);
    await head.refresh();
    const second = dispatcher.handle(Buffer.from(NUMBER), caller);
    chain.add(0);
    await head.refresh();
    expect(read(await second)).toMatchObject([200, { result: '0x5' }, 5]);
  });

  it('holds when a reorg takes the head back below it', async () => {
    const chain = five();
    const call = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x${'00'.repeat(20)}"}]}`;
    const head = await chain.head(async () => {
      if (chain.blocks.length === 5) {
        chain.truncate(2);
        await head.refresh();
      }
      return { kind: 'success', output: '0x' };
    });
    const reached = vi.spyOn(head, 'reached');
    const dispatcher = dispatcherOf(head, { atLeastWaitMs: 60_000 });
    const answer = dispatcher.handle(Buffer.from(call), { signal: never, client, atLeast: '4' });
    await vi.waitFor(() => expect(reached).toHaveBeenCalledOnce());
    chain.add(0, 1).add(0, 1).add(0, 1);
    await head.refresh();
    expect(read(await answer)).toMatchObject([200, { result: '0x' }, 5]);
  });
});
