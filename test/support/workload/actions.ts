import { encodeDeployData, getContractAddress, type Hex, keccak256, parseEther } from 'viem';
import { assemble, type Item } from '../assembler.ts';
import { mappingSlot } from './catalogue.ts';
import { workloadContracts } from './contracts.ts';
import { delegationActions } from './delegations.ts';
import type { Action, Draft } from './draft.ts';
import { precompileAddresses, precompileInput } from './precompiles.ts';
import { systemActions } from './system.ts';

const code = (...items: readonly Item[]): Hex => assemble(...items) as Hex;

/** What a creation runs; all ways in which one ends. */
const initCodes: readonly ((draft: Draft) => Hex)[] = [
  () => code(0x42, 0, 'MSTORE', 32, 0, 'RETURN'),
  () => code(1, 0, 'SSTORE', 'NUMBER', 1, 'SSTORE', 0x6000, 0, 'MSTORE', 2, 30, 'RETURN'),
  () => code(0, 0, 'RETURN'),
  () => code(7, 0, 'SSTORE', 0, 0, 'REVERT'),
  () => code(0xef, 0, 'MSTORE8', 1, 0, 'RETURN'),
  () => code(1, 1, 'SSTORE', 'CALLER', 'SELFDESTRUCT'),
  () => code('ADDRESS', 'SELFDESTRUCT'),
  () => code(0x6001, 0, 'RETURN'),
  () => code('INVALID'),
  () => code('JUMPDEST', 0, 'JUMP'),
  ({ random }) => random.hex(random.between(1, 20)) as Hex,
  () => workloadContracts().Mortal.code,
  (draft) => {
    const { abi, code: bytecode } = workloadContracts().Proxy;
    return encodeDeployData({ abi, bytecode, args: [draft.address('DoubleCounter')] });
  },
];

const transfer: Action = async (draft) => {
  const { random, catalogue } = draft;
  const to = (random.chance(0.5) ? random.hex(20) : random.pick(catalogue.addresses)) as Hex;
  catalogue.address(to);
  await draft.send({ to, value: random.pick([0n, 1n, 1000n, parseEther('0.001')]), gas: 100_000n });
};

const token: Action = async (draft) => {
  const { random, catalogue } = draft;
  const to = (random.chance(0.3) ? random.hex(20) : random.pick(catalogue.addresses)) as Hex;
  const address = draft.address('Token');
  const data = random.weighted([
    [4, () => draft.encode('Token', 'transfer', [to, BigInt(random.below(1000))])],
    [2, () => draft.encode('Token', 'many', [BigInt(random.between(1, 15)), BigInt(random.below(50))])],
    [1, () => draft.encode('Token', 'fail', [BigInt(random.below(4))])],
  ]);
  catalogue.slot(address, mappingSlot(to, 0));
  catalogue.call(address, draft.encode('Token', 'balanceOf', [to]));
  catalogue.call(address, draft.encode('Token', 'spin', [BigInt(random.between(1, 300))]));
  // Only who made the token has any: the others' transfers fail with a panic.
  const from = random.chance(0.7) ? draft.traits.funder : undefined;
  await draft.send({ to: address, data }, from);
};

const mapping: Action = async (draft) => {
  const { random, catalogue } = draft;
  const address = draft.address('Workshop');
  const [from, n] = [random.below(60), random.between(1, 12)];
  const sender = random.pick(draft.senders);
  const data = random.weighted([
    [4, () => draft.encode('Workshop', 'put', [BigInt(from), BigInt(n), BigInt(random.below(9))])],
    [3, () => draft.encode('Workshop', 'clear', [BigInt(from), BigInt(n)])],
    [1, () => draft.encode('Workshop', 'push', [BigInt(random.between(1, 5))])],
    [1, () => draft.encode('Workshop', 'pop', [BigInt(random.between(1, 6))])],
  ]);
  for (let key = from; key < from + n; key += 1) {
    catalogue.slot(address, mappingSlot(key, 0));
    catalogue.slot(address, mappingSlot(key, mappingSlot(sender.address, 1)));
  }
  catalogue.slot(address, keccak256(`0x${'00'.repeat(31)}02`));
  catalogue.call(address, draft.encode('Workshop', 'values', [BigInt(from)]));
  catalogue.call(address, draft.encode('Workshop', 'sum', []));
  await draft.send({ to: address, data, gas: 1_500_000n }, sender);
};

const logs: Action = async (draft) => {
  const { random } = draft;
  const data = draft.encode('Workshop', 'emitting', [
    BigInt(random.below(5)),
    BigInt(random.between(1, 8)),
    random.hex(random.pick([0, 1, 31, 32, 33, 100])),
    BigInt(random.below(20)),
  ]);
  await draft.send({ to: draft.address('Workshop'), data });
};

const failing: Action = async (draft) => {
  const { random, catalogue } = draft;
  const how = [BigInt(random.below(7))];
  const to = draft.address('Workshop');
  const data = draft.encode('Workshop', random.pick(['fail', 'tryFail']), how);
  catalogue.call(to, draft.encode('Workshop', 'fail', how));
  await draft.send({ to, data, gas: BigInt(random.pick([60_000, 100_000, 300_000])) });
};

const outOfGas: Action = async (draft) => {
  const { random } = draft;
  const to = draft.address('Workshop');
  const data = random.chance(0.5)
    ? draft.encode('Workshop', 'spin', [1_000_000n])
    : draft.encode('Workshop', 'put', [0n, 200n, 1n]);
  await draft.send({ to, data, gas: BigInt(random.between(30_000, 400_000)) });
};

const context: Action = async (draft) => {
  const { random, catalogue } = draft;
  const to = draft.address('Workshop');
  const back = [BigInt(random.pick([1, 2, 3, 100, 255, 256, 257]))];
  for (const key of [1000, 1003, 1007, 1012, 1015, 2000, 2001, 2003, 2004, 3001])
    catalogue.slot(to, mappingSlot(key + random.below(2), 0));
  catalogue.call(to, draft.encode('Workshop', 'view_', back));
  const data = random.weighted([
    [2, () => draft.encode('Workshop', 'context', [])],
    [2, () => draft.encode('Workshop', 'hashes', back)],
    [2, () => draft.encode('Workshop', 'transient_', [BigInt(random.between(0, 20))])],
  ]);
  await draft.send({ to, data });
};

const precompile: Action = async (draft) => {
  const { random, catalogue } = draft;
  const address = random.pick(precompileAddresses) as Hex;
  const input = precompileInput(random, address) as Hex;
  if (input.length > 2 + 2 * 4096) return;
  catalogue.call(address, input);
  if (random.chance(0.2)) {
    await draft.send({ to: address, data: input, value: random.chance(0.2) ? 1n : 0n, gas: 2_000_000n });
    return;
  }
  const data = draft.encode('Workshop', 'precompile', [address, input]);
  await draft.send({ to: draft.address('Workshop'), data, gas: 2_500_000n });
};

const poke: Action = async (draft) => {
  const { random, catalogue } = draft;
  const target = (
    random.chance(0.5) ? random.hex(20) : random.pick([...catalogue.contracts, ...catalogue.addresses])
  ) as Hex;
  catalogue.address(target);
  const args = [target, BigInt(random.pick([0, 0, 1, 5])), random.hex(random.pick([0, 4, 36]))];
  await draft.send({ to: draft.address('Workshop'), data: draft.encode('Workshop', 'poke', args) });
};

const creation: Action = async (draft) => {
  const { random, catalogue } = draft;
  const from = random.pick(draft.senders);
  const made = getContractAddress({ from: from.address, nonce: BigInt(draft.nonceOf(from)) });
  catalogue.contract(made);
  for (const slot of [0, 1]) catalogue.slot(made, slot);
  const data = random.pick(initCodes)(draft);
  await draft.send({ data, gas: BigInt(random.pick([60_000, 200_000, 800_000])) }, from);
};

const factory: Action = async (draft) => {
  const { random, catalogue } = draft;
  const init = random.pick(initCodes)(draft);
  const value = BigInt(random.pick([0, 0, 1]));
  // Few salts, so that most are used again: a collision, or what was destroyed made anew.
  const salt = `0x${random.below(4).toString(16).padStart(64, '0')}` as const;
  const to = draft.address('Workshop');
  if (random.chance(0.4)) {
    await draft.send({ to, data: draft.encode('Workshop', 'create', [init, value]) });
    return;
  }
  catalogue.contract(getContractAddress({ opcode: 'CREATE2', from: to, salt, bytecode: init }));
  await draft.send({ to, data: draft.encode('Workshop', 'create2', [init, salt, value]) });
};

const flash: Action = async (draft) => {
  const { random, catalogue } = draft;
  const to = draft.address('Workshop');
  const salt = `0x${(100 + random.below(5)).toString(16).padStart(64, '0')}` as const;
  const bytecode = workloadContracts().Mortal.code;
  const made = getContractAddress({ opcode: 'CREATE2', from: to, salt, bytecode });
  catalogue.contract(made);
  catalogue.slot(made, 0);
  const data = draft.encode('Workshop', 'flash', [salt, BigInt(random.below(4))]);
  await draft.send({ to, data, value: BigInt(random.pick([0, 7])) });
};

/** Destroys a contract of an earlier transaction: since Cancun only its money moves. */
const destroy: Action = async (draft) => {
  const { random, catalogue } = draft;
  const to = random.chance(0.3) ? draft.address('Mortal') : random.pick(catalogue.contracts);
  const heir = random.pick([
    to,
    draft.address('Workshop'),
    random.hex(20),
    random.pick(draft.senders).address,
  ]);
  if (random.chance(0.4)) await draft.send({ to, value: 3n });
  await draft.send({ to, data: draft.encode('Mortal', 'kill', [heir]) });
};

const proxy: Action = async (draft) => {
  const { random, catalogue } = draft;
  const to = draft.address('Proxy');
  catalogue.slot(to, '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc');
  catalogue.call(to, draft.encode('Counter', 'count', []));
  const sender = random.pick(draft.senders);
  catalogue.slot(to, mappingSlot(sender.address, 1));
  const data = random.chance(0.25)
    ? draft.encode('Proxy', 'upgradeTo', [draft.address(random.pick(['Counter', 'DoubleCounter'] as const))])
    : draft.encode('Counter', 'bump', [BigInt(random.below(5))]);
  await draft.send({ to, data }, sender);
};

/** Everything that can happen, with its weight. */
export const actions: readonly (readonly [weight: number, act: Action])[] = [
  [8, transfer],
  [8, token],
  [9, mapping],
  [8, logs],
  [6, failing],
  [3, outOfGas],
  [8, context],
  [9, precompile],
  [4, poke],
  [6, creation],
  [6, factory],
  [6, flash],
  [4, destroy],
  [6, proxy],
  ...delegationActions,
  ...systemActions,
];
