import { expect, it } from 'vitest';
import { executeOfficialChain } from '../../../test/support/serve/executor.ts';
import { describeKey } from '../../chain/state-key.ts';
import { toHex } from '../../primitives/hex.ts';
import { slotsAhead } from './slots-ahead.ts';

it('knows what the next two blocks write at their start', async () => {
  const outcomes = await executeOfficialChain();
  let known = 0;
  for (const [index, block] of outcomes.entries()) {
    const parent = outcomes[index - 1];
    const next = outcomes[index + 1];
    if (parent === undefined || next === undefined) continue;
    const keys = slotsAhead(block, block.timestamp - parent.timestamp).map(describeKey);
    const isRing = ([address]: readonly Uint8Array[]): boolean =>
      /f3df6d7|f90827f/.test(toHex(address ?? new Uint8Array()));
    const written = new Set(block.diff.slots.filter(isRing).map(([address]) => toHex(address)));
    for (const [address, slot] of next.diff.slots.filter(isRing)) {
      // A fork brings a contract: nothing before has written it.
      if (!written.has(toHex(address))) continue;
      expect(keys).toContain(describeKey({ kind: 'slot', address, slot }));
      known++;
    }
  }
  expect(known).toBeGreaterThan(10);
});

it('asks for nothing where no block writes such slots', () => {
  const diff = { wiped: [], accounts: [], slots: [], codes: [] };
  expect(slotsAhead({ number: 9, timestamp: 100, diff }, 2)).toEqual([]);
});
