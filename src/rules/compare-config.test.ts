import { describe, expect, it } from 'vitest';
import { compareConfig, deniesFork } from './compare-config.ts';
import { parseEthConfig } from './eth-config.ts';
import { ownForkConfig, withBlobChange } from './own-config.ts';
import type { ChainConfig } from './row.ts';

const PRAGUE_BLOBS = { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 };
const BPO_BLOBS = { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193 };
const prague = {
  ...{ chainId: 1337, londonBlock: 0, shanghaiTime: 0, cancunTime: 0, pragueTime: 1_000 },
  blobSchedule: { prague: PRAGUE_BLOBS },
};
const osaka = { ...prague, osakaTime: 2_000 };

/** What geth 1.16.7 says of a fork. */
function fork(config: typeof prague, time: number, more: object = {}): object {
  const { blobSchedule, precompiles, systemContracts, activationTime } = ownForkConfig(config, time);
  return {
    ...{ activationTime, blobSchedule, chainId: '0x539', forkId: '0x89495bda' },
    precompiles: Object.fromEntries([...precompiles].map((address) => [address, address])),
    systemContracts: {
      ...Object.fromEntries(systemContracts),
      DEPOSIT_CONTRACT_ADDRESS: `0x${'0'.repeat(40)}`,
    },
    ...more,
  };
}

describe('our own rules, as eth_config would tell them', () => {
  it('have the precompiles and contracts of their fork', () => {
    expect(ownForkConfig(osaka, 999)).toMatchObject({
      activationTime: 0,
      precompiles: { size: 10 },
      blobSchedule: { max: 6 },
    });
    expect(ownForkConfig(osaka, 1_000)).toMatchObject({
      activationTime: 1_000,
      precompiles: { size: 17 },
      blobSchedule: PRAGUE_BLOBS,
    });
    const { precompiles, systemContracts, activationTime } = ownForkConfig(osaka, 5_000);
    expect([activationTime, precompiles.size, systemContracts.size]).toEqual([2_000, 18, 4]);
    expect(precompiles).toContain(`0x${'0'.repeat(37)}100`);
  });

  it('have no blobs on OP-stack chains, and their own names for forks', () => {
    const op = { chainId: 10, optimism: {}, ecotoneTime: 5, fjordTime: 6, isthmusTime: 7 };
    expect(ownForkConfig(op, 6)).toMatchObject({ blobSchedule: undefined, precompiles: { size: 11 } });
    expect(ownForkConfig(op, 7).precompiles.size).toBe(18);
  });
});

describe('an upstream with other rules (B16)', () => {
  it('differs in nothing when it has ours', () => {
    const said = { current: fork(osaka, 1_500), next: fork(osaka, 2_000), last: fork(osaka, 2_000) };
    expect(compareConfig(osaka, parseEthConfig(said))).toEqual([]);
  });

  it('has a fork that is not known here', () => {
    const said = { current: fork(osaka, 1_500), next: fork(osaka, 2_000), last: fork(osaka, 2_000) };
    expect(compareConfig(prague, parseEthConfig(said))).toEqual([
      { kind: 'unknown fork', activationTime: 2_000, forkId: '0x89495bda' },
    ]);
  });

  it('has a fork without anything that shows', () => {
    const said = { current: fork(prague, 1_500), next: fork(prague, 1_500, { activationTime: 3_000 }) };
    expect(compareConfig(prague, parseEthConfig(said))).toMatchObject([{ kind: 'unknown fork' }]);
  });

  it('has other blob parameters only', () => {
    const next = fork(prague, 1_500, { activationTime: 3_000, blobSchedule: BPO_BLOBS });
    const [difference] = compareConfig(prague, parseEthConfig({ current: fork(prague, 1_500), next }));
    expect(difference).toMatchObject({ kind: 'blobs', activationTime: 3_000, blobSchedule: BPO_BLOBS });
    const adopted = withBlobChange(prague, { activationTime: 3_000, blobSchedule: BPO_BLOBS });
    expect(adopted).toEqual({
      ...{ ...prague, bpo1Time: 3_000 },
      blobSchedule: { prague: PRAGUE_BLOBS, bpo1: BPO_BLOBS },
    });
    expect(compareConfig(adopted ?? prague, parseEthConfig({ current: fork(prague, 1_500), next }))).toEqual(
      [],
    );
    expect(ownForkConfig(adopted ?? prague, 2_999).blobSchedule).toEqual(PRAGUE_BLOBS);
  });

  it('has other contents at a time that is known', () => {
    const said = { current: fork(prague, 1_500), next: fork(osaka, 2_000, { activationTime: 1_000 }) };
    expect(compareConfig(prague, parseEthConfig({ ...said, current: said.next }))).toMatchObject([
      { kind: 'contents', activationTime: 1_000 },
    ]);
  });

  it('denies a fork only where it would have had to name it', () => {
    const at = (activationTime: number): object => fork(prague, 1_500, { activationTime });
    const all = parseEthConfig({ current: at(1_000), next: at(2_000), last: at(4_000) });
    expect([500, 1_000, 1_500, 2_000, 3_000, 4_000, 5_000].map((time) => deniesFork(all, time))).toEqual([
      ...[false, false, true, false, false, false, true],
    ]);
    const none = parseEthConfig({ current: at(1_000), next: null, last: null });
    expect([500, 1_500].map((time) => deniesFork(none, time))).toEqual([false, true]);
  });
});

it.each([
  ['nothing', null],
  ['a list', []],
  ['no fork', {}],
  ['a time that is none', { current: { activationTime: -1 } }],
  ['an address that is none', { current: { activationTime: 1, precompiles: { A: '0x1' } } }],
  ['blobs that are none', { current: { activationTime: 1, blobSchedule: { target: '6' } } }],
])('an answer of %s is none', (_, answer) => {
  expect(() => parseEthConfig(answer)).toThrow(TypeError);
});

it('keeps changes of blob parameters in the order of their times, as long as there are names for them', () => {
  const bare: ChainConfig = { chainId: 1 };
  let config: ChainConfig | undefined = bare;
  for (const activationTime of [50, 10, 40, 20, 30]) {
    config = withBlobChange(config ?? bare, { activationTime, blobSchedule: PRAGUE_BLOBS });
  }
  expect([1, 2, 3, 4, 5].map((name) => config?.[`bpo${name}Time`])).toEqual([10, 20, 30, 40, 50]);
  expect(withBlobChange(config ?? bare, { activationTime: 60, blobSchedule: PRAGUE_BLOBS })).toBeUndefined();
  expect(withBlobChange(config ?? bare, { activationTime: 50, blobSchedule: BPO_BLOBS })).toMatchObject({
    bpo5Time: 50,
    blobSchedule: { bpo5: BPO_BLOBS },
  });
});
