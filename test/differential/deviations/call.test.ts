import { expect, it } from 'vitest';
import { callDeviations } from './call.ts';

const [earlyList] = callDeviations({ head: 54, hashes: [] });
const address = `0x${'11'.repeat(20)}`;

/** What geth is asked instead, at a block that had no access lists yet. */
function asked(entry: object): unknown {
  const call = { method: 'eth_call', params: [{ to: address, accessList: [entry] }, '0x1'] };
  return earlyList?.means?.(call);
}

it('an early access list is left out, but only one that both servers read', () => {
  expect(asked({ address, storageKeys: [] })).toMatchObject({ call: { params: [{ to: address }, '0x1'] } });
  expect(asked({ address, storageKeys: [`0x${'22'.repeat(32)}`] })).toBeDefined();
  // geth: missing required field 'storageKeys' for AccessTuple.
  expect(asked({ address })).toBeUndefined();
  expect(asked({ address, storageKeys: null })).toBeUndefined();
});
