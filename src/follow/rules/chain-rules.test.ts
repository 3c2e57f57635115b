import { expect, it } from 'vitest';
import { makeChain } from '../../../test/support/store/contract-chain.ts';
import type { ChainSource } from '../../source/interface.ts';
import type { Store } from '../../store/interface.ts';
import { createMemoryStore } from '../../store/memory/index.ts';
import type { FollowEvent } from '../events.ts';
import { expectSameChain, keepRules, rulesOfCopy, rulesToFollow, storedRules } from './chain-rules.ts';
import { RulesProof } from './proof.ts';

const { signal } = new AbortController();
const [block] = makeChain(undefined, [{}]);
const at = { number: 1, hash: '0x01' } as const;
const moved: FollowEvent = { kind: 'moved', head: at };
const executed: FollowEvent = { kind: 'executed', block: at, transactions: 0, gasUsed: 0, rounds: 0, ms: 0 };

function upstreamOf(chainId: bigint): ChainSource {
  return { chainIds: async () => [{ value: chainId, upstream: 'one' }] } as unknown as ChainSource;
}

/** A store that holds the first block of a chain. */
async function begun(): Promise<Store> {
  const store = createMemoryStore();
  if (block !== undefined) await store.append([block], { partial: true });
  return store;
}

it('go by the chain id unless others are asked for', async () => {
  const store = await begun();
  const modules = { store, source: upstreamOf(8453n) };
  expect(await rulesToFollow(undefined, modules, signal)).toEqual({ text: 'base', standing: 'fitting' });
  expect(await rulesToFollow('anvil', modules, signal)).toEqual({ text: 'anvil', standing: 'unproven' });
  expect(await storedRules(store)).toBeUndefined();
});

it('are those kept, until others are asked for', async () => {
  const store = await begun();
  const modules = { store, source: upstreamOf(8453n) };
  await keepRules(store, { text: 'geth-dev', standing: 'unproven' });
  expect(await rulesToFollow(undefined, modules, signal)).toEqual({ text: 'geth-dev', standing: 'kept' });
  expect(await rulesToFollow('geth-dev', modules, signal)).toEqual({ text: 'geth-dev', standing: 'kept' });
  expect(await rulesToFollow('anvil', modules, signal)).toEqual({ text: 'anvil', standing: 'unproven' });
});

it('that an earlier start left in a store without a block do not count', async () => {
  const store = createMemoryStore();
  await keepRules(store, { text: 'anvil', standing: 'unproven' });
  const modules = { store, source: upstreamOf(8453n) };
  expect(await rulesToFollow(undefined, modules, signal)).toEqual({ text: 'base', standing: 'fitting' });
});

it('are not replaced by those of another chain', async () => {
  const store = await begun();
  await expectSameChain(store, 1n, 'data');
  await keepRules(store, { text: 'base', standing: 'fitting' });
  await expectSameChain(store, 8453n, 'data');
  await expect(expectSameChain(store, 10n, 'data')).rejects.toThrow(
    '--chain is of chain 10, and the copy in data is of chain base: use another --data',
  );
  await keepRules(store, { text: '{"chainId":77}', standing: 'unproven' });
  await expectSameChain(store, 77n, 'data');
  await expect(expectSameChain(store, 8453n, 'data')).rejects.toThrow('is of chain 77');
});

it('of a copy that has not proven any are not made up', async () => {
  const nothing = new Error('nothing here');
  await expect(rulesOfCopy(createMemoryStore(), nothing)).rejects.toThrow(nothing);
  const store = await begun();
  await expect(rulesOfCopy(store, nothing)).rejects.toThrow('no block has been verified under its rules yet');
  await keepRules(store, { text: 'base', standing: 'fitting' });
  expect(await rulesOfCopy(store, nothing)).toBe('base');
});

it('are kept when a block that was verified under them is part of the copy, and not before', async () => {
  const kept: string[] = [];
  let full = true;
  const store = {
    setMeta: async (_: string, text: string) => {
      if (full) throw new Error('disk full');
      kept.push(text);
    },
  };
  const said: string[] = [];
  const hear = (...args: unknown[]) => void said.push(String(args.at(-1)));
  const logger = { info: hear, warn: hear };
  const proof = new RulesProof({ text: 'base', standing: 'unproven' }, { store, logger });
  const settle = () => new Promise(setImmediate);
  // The anchor is only read.
  for (const event of [moved, executed]) proof.observe(event);
  await settle();
  expect(said).toEqual([]);
  proof.observe(moved);
  await settle();
  expect(said).toEqual(['the rules of --chain cannot be kept yet']);
  full = false;
  proof.observe(moved);
  await settle();
  proof.observe(moved);
  await settle();
  expect(kept).toEqual(['base']);
  new RulesProof({ text: 'base', standing: 'kept' }, { store, logger }).observe(executed);
  expect(kept).toEqual(['base']);
});
