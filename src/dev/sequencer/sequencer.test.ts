import { expect, it } from 'vitest';
import { blockOf } from '../../../test/support/serve/dev.ts';
import type { Hex } from '../../primitives/hex.ts';
import type { FlashblockMessage } from './flashblocks.ts';
import { runSequencer } from './sequencer.ts';

it('extends a block ten times, seals it, and goes on with the next', async () => {
  const stop = new AbortController();
  const done: string[] = [];
  const published: FlashblockMessage[] = [];
  let number = 0;
  const open = async () => {
    number += 1;
    const transactions: Hex[] = [];
    const own = number;
    const build = (what: string) => async () => {
      done.push(`${what} ${own}`);
      transactions.push(`0x0${transactions.length.toString(16)}`);
      return blockOf(own, [...transactions]);
    };
    return { extend: build('extend'), seal: build('seal') };
  };
  const publish = (message: FlashblockMessage): void => {
    published.push(message);
    if (published.length === 13) stop.abort();
  };
  await runSequencer({ open }, publish, stop.signal, 1);
  expect(done).toEqual([...Array(10).fill('extend 1'), 'seal 1', 'extend 2', 'extend 2']);
  const indices = published.map(({ metadata, index }) => `${metadata.block_number};${index}`);
  expect(indices).toEqual([...Array.from({ length: 11 }, (_, index) => `1;${index}`), '2;0', '2;1']);
});

it('ends with the failure of the chain', async () => {
  const open = async () => {
    const fail = () => Promise.reject(new Error('no block'));
    return { extend: fail, seal: fail };
  };
  const never = new AbortController().signal;
  await expect(runSequencer({ open }, () => {}, never, 1)).rejects.toThrow('no block');
});
