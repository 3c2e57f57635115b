// What the newest fork of each chain that is known by name changes, in the block before it and in its first one.
import { beforeAll, describe, expect, it } from 'vitest';
import { assemble } from '../../test/support/assembler.ts';
import { executeOfficialChain, HEAD, roomyOptions } from '../../test/support/serve/executor.ts';
import type { Hex } from '../primitives/hex.ts';
import { CHAINS } from '../rules/chains.ts';
import { activationTimes } from '../rules/own-config.ts';
import type { ChainRow } from '../rules/row.ts';
import type { CallResult } from './interface.ts';
import { NativeExecutor } from './native-executor.ts';

/** Any block after the merge: calls pretend number and time. */
let header: Uint8Array;
beforeAll(async () => {
  header = (await executeOfficialChain())[HEAD]?.header ?? new Uint8Array();
});

const TARGET: Hex = `0x${'aa'.padStart(40, '0')}`;
const precompile = (number: number): Hex => `0x${number.toString(16).padStart(40, '0')}`;
const [IDENTITY, MODEXP, PAIRING, P256] = [4, 5, 8, 0x100].map(precompile) as [Hex, Hex, Hex, Hex];

/** Calls an address with its own input; returns whether that went well, and the gas it took. */
const measured = (to: Hex): Hex =>
  assemble(
    ...['CALLDATASIZE', 0, 0, 'CALLDATACOPY', 'GAS', 0, 0, 'CALLDATASIZE', 0, to, 'GAS', 'STATICCALL', 'GAS'],
    ...['SWAP1', 0, 'MSTORE', 'SWAP1', 'SUB', 32, 'MSTORE', 64, 0, 'RETURN'],
  ) as Hex;

class Chain {
  readonly #executor: NativeExecutor;
  readonly #time: number;

  constructor({ name }: ChainRow, time: number) {
    // Nothing exists but what a call brings along.
    this.#executor = NativeExecutor.create(name, roomyOptions, {
      load: (keys) => keys.map(() => Buffer.alloc(0)),
    });
    this.#executor.open(header);
    this.#time = time;
  }

  async run(code: Hex, data: Hex = '0x'): Promise<CallResult> {
    // After every fork that begins at a block.
    const blockOverrides = { number: '0x8000000', time: `0x${this.#time.toString(16)}` } as const;
    const stateOverrides = { [TARGET]: { code } };
    return this.#executor
      .view(header)
      .call({ to: TARGET, gas: '0x2faf080', data, stateOverrides, blockOverrides });
  }

  /** Whether a precompile took an input, and its own gas. */
  async gasOf(to: Hex, data: Hex = '0x'): Promise<{ readonly taken: boolean; readonly gas: number }> {
    const [{ taken, gas }, { gas: around }] = await Promise.all([
      this.#measure(to, data),
      this.#measure(IDENTITY, '0x'),
    ]);
    return { taken, gas: gas - (around - 15) };
  }

  async #measure(to: Hex, data: Hex): Promise<{ readonly taken: boolean; readonly gas: number }> {
    const result = await this.run(measured(to), data);
    if (result.kind !== 'success') throw new Error(`it ended as ${result.kind}`);
    const output = String(result.output);
    return { taken: BigInt(output.slice(0, 66)) === 1n, gas: Number(`0x${output.slice(66)}`) };
  }
}

const times: readonly (readonly [string, ChainRow, number])[] = CHAINS.flatMap((row) => {
  const { osakaTime } = row.config;
  // Development chains have it from the first block on.
  return typeof osakaTime === 'number' && osakaTime > 0 ? [[row.name, row, osakaTime] as const] : [];
});

/** A modular exponentiation of one-byte numbers, but for the length of its base. */
const modexp = (baseBytes: number): Hex =>
  `0x${[baseBytes, 1, 1].map((length) => length.toString(16).padStart(64, '0')).join('')}${'03'.repeat(baseBytes + 2)}`;
const pairs = (count: number): Hex => `0x${'00'.repeat(192 * count)}`;

it('is all chains but those of development', () => {
  expect(times.map(([name]) => name)).toEqual(
    CHAINS.map(({ name }) => name).filter((name) => name !== 'geth-dev' && name !== 'anvil'),
  );
});

it('says of each row since when its newest fork is in force', () => {
  for (const { config, newestFork, unknownFork } of CHAINS) {
    const begun = activationTimes(config);
    expect(begun).toContain(newestFork.since);
    if (unknownFork !== undefined) expect(begun).toContain(unknownFork.since);
  }
});

describe.each(times)('%s', (_name, row, forkTime) => {
  const isOp = 'optimism' in row.config;
  const isBase = 'base' in row.config;

  it('counts leading zeros from the fork on (EIP-7939)', async () => {
    const code = assemble(1, 'CLZ', 0, 'MSTORE', 32, 0, 'RETURN') as Hex;
    expect((await new Chain(row, forkTime - 1).run(code)).kind).toBe('halt');
    const after = await new Chain(row, forkTime).run(code);
    expect(after).toEqual({ kind: 'success', output: `0x${'ff'.padStart(64, '0')}` });
  });

  it('prices P256VERIFY at 6,900 gas from the fork on (EIP-7951)', async () => {
    // Before it, the OP stack has it at 3,450 (RIP-7212), and Ethereum has nothing there.
    const before = await new Chain(row, forkTime - 1).gasOf(P256, `0x${'00'.repeat(160)}`);
    expect(before.gas).toBe(isOp ? 3_450 : 2_500);
    expect((await new Chain(row, forkTime).gasOf(P256, `0x${'00'.repeat(160)}`)).gas).toBe(6_900);
  });

  it('prices and bounds MODEXP anew from the fork on (EIP-7883, EIP-7823)', async () => {
    const before = new Chain(row, forkTime - 1);
    const after = new Chain(row, forkTime);
    expect(await before.gasOf(MODEXP, modexp(1))).toEqual({ taken: true, gas: 200 });
    expect(await after.gasOf(MODEXP, modexp(1))).toEqual({ taken: true, gas: 500 });
    expect((await before.gasOf(MODEXP, modexp(1_025))).taken).toBe(true);
    expect((await after.gasOf(MODEXP, modexp(1_025))).taken).toBe(false);
    expect((await after.gasOf(MODEXP, modexp(1_024))).taken).toBe(true);
  });

  it('bounds pairings as its fork does', async () => {
    const before = new Chain(row, forkTime - 1);
    const after = new Chain(row, forkTime);
    const takes = async (chain: Chain, count: number): Promise<boolean> =>
      (await chain.gasOf(PAIRING, pairs(count))).taken;
    // 57,600 bytes are 300 pairs, 81,984 are 427.
    expect([await takes(before, 301), await takes(before, 427), await takes(before, 428)]).toEqual([
      ...[true, true, !isOp],
    ]);
    const most = isOp && !isBase ? 300 : 427;
    expect([await takes(after, most), await takes(after, most + 1)]).toEqual([true, !isOp]);
  });
});

it('refuses a call at a time whose rules are not known', async () => {
  const row = CHAINS.find(({ name }) => name === 'sepolia');
  if (row?.unknownFork === undefined) throw new Error('Sepolia has no fork that is not known');
  const { since } = row.unknownFork;
  expect((await new Chain(row, since - 1).run('0x00')).kind).toBe('success');
  const refused = await new Chain(row, since).run('0x00');
  expect(refused).toMatchObject({ kind: 'invalid', message: expect.stringContaining('Amsterdam') as string });
});
