import { expect, it } from 'vitest';
import {
  executeOfficialChain,
  HEAD,
  loadFrom,
  officialGenesis,
  roomyOptions,
} from '../../../test/support/serve/executor.ts';
import { keyText, type StateKey } from '../../chain/state-key.ts';
import { NativeExecutor } from '../../executor/native-executor.ts';
import { BlockStarts } from './block-starts.ts';

it('has the slots that blocks write at their start in memory before they are executed, loaded once', async () => {
  const outcomes = await executeOfficialChain();
  const load = loadFrom(outcomes);
  const executor = NativeExecutor.create(officialGenesis().config, roomyOptions, { load });
  const [first, ...next] = outcomes.slice(HEAD - 4);
  if (first === undefined) throw new Error('no blocks');
  executor.open(first.header);
  const loaded: string[] = [];
  const state = {
    load: async (keys: readonly StateKey[], ...rest: [number, typeof first]) => {
      loaded.push(...keys.map(keyText));
      return load(keys, ...rest);
    },
  };
  const starts = new BlockStarts({ executor, state });
  await starts.bringIn(next, first.header, first);
  // Nobody knows yet that they write anything.
  expect(loaded).toEqual([]);
  starts.learn(first);
  await starts.bringIn(next, first.header, first);
  const brought = [...loaded];
  expect(brought.length).toBeGreaterThanOrEqual(2 * next.length);
  await starts.bringIn(next, first.header, first);
  expect(loaded).toEqual(brought);
  const lacked: string[] = [];
  for (const { block, hash } of next) {
    const outcome = await executor.execute(block, (keys, asOf) => {
      lacked.push(...keys.map(keyText));
      return load(keys, asOf, undefined);
    });
    expect(outcome.hash).toBe(hash);
    // Not one of what it wrote there.
    const written = outcome.diff.slots.map(([address, slot]) => keyText({ kind: 'slot', address, slot }));
    expect(brought.some((key) => written.includes(key))).toBe(true);
  }
  expect(lacked.filter((key) => brought.includes(key))).toEqual([]);
});
