import { native } from '@chain-query/native';
import { describe, expect, it } from 'vitest';
import type { Hex } from '../../primitives/hex.ts';
import { checkProof } from '../native-executor.ts';
import { StateProver } from './state-prover.ts';
import type { StateScan } from './state-tries.ts';

const HASH: Hex = `0x${'11'.repeat(32)}`;
const address = (at: number): Uint8Array => Buffer.alloc(20, at);
const hex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`;

/** RLP of nonce 0, a balance and the hash of no code: an account in its stored form. */
function stored(balance: number): Uint8Array {
  const noCode = native.keccak256(new Uint8Array());
  return Buffer.concat([Buffer.from([0xc0 + 35, 0x80, balance, 0xa0]), noCode]);
}

/** Accounts 1 to 9, the first of which has a slot. */
function state(): { scan: () => StateScan; scans: () => number; root: Hex } {
  let scans = 0;
  const entries = Array.from({ length: 9 }, (_, at) => ({
    kind: 'account' as const,
    address: address(at + 1),
    value: stored(at + 1),
  }));
  const slot = {
    kind: 'slot' as const,
    address: address(1),
    slot: Buffer.alloc(32),
    value: Buffer.from([5]),
  };
  const all = [...entries.slice(0, 1), slot, ...entries.slice(1)];
  const commitment = new native.NativeCommitment();
  for (const entry of all) {
    if (entry.kind === 'account') commitment.addAccount(entry.address, entry.value);
    else commitment.addSlot(entry.address, entry.slot, entry.value);
  }
  async function* scan(): StateScan {
    scans++;
    yield* all;
  }
  return { scan, scans: () => scans, root: commitment.root() as Hex };
}

describe('proofs from a complete state', () => {
  it('hold, also for what is not there, and gather the state once a block', async () => {
    const { scan, scans, root } = state();
    const prover = new StateProver(scan, { maxKeys: 10 });
    const block = { number: 1, hash: HASH, stateRoot: root };
    for (const at of [1, 2, 77]) {
      const slots = [hex(Buffer.alloc(32)), hex(Buffer.alloc(32, 1))];
      const proof = await prover.prove(block, hex(address(at)), slots);
      if (proof === undefined) throw new Error('nothing was proven');
      expect(proof.balance).toBe(at === 77 ? '0x0' : `0x${at}`);
      expect(proof.slots.map(({ value }) => value)).toEqual([at === 1 ? '0x5' : '0x0', '0x0']);
      const { nodes, slots: proven, ...account } = proof;
      const storageProof = proven.map((one, index) => ({
        key: slots[index],
        value: one.value,
        proof: one.nodes,
      }));
      const asJson = { ...account, accountProof: nodes, storageProof };
      checkProof(
        root,
        address(at),
        slots.map((slot) => Buffer.from(slot.slice(2), 'hex')),
        asJson,
      );
    }
    expect(scans()).toBe(1);
  });

  it('are not given where the state does not give the root, or is too large, which is found out once', async () => {
    for (const [maxKeys, stateRoot] of [
      [10, HASH],
      [9, state().root],
    ] as const) {
      const { scan, scans } = state();
      const prover = new StateProver(scan, { maxKeys });
      const block = { number: 1, hash: HASH, stateRoot };
      expect(await prover.prove(block, hex(address(1)), [])).toBeUndefined();
      expect(
        await prover.prove({ ...block, hash: hex(Buffer.alloc(32, 9)) }, hex(address(1)), []),
      ).toBeUndefined();
      expect(scans()).toBe(1);
    }
  });
});
