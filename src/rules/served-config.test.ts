import { describe, expect, it } from 'vitest';
import { servedConfig } from './served-config.ts';

// Ethereum's own: its fork ids are published (EIP-2124, EIP-7910).
const MAINNET = {
  ...{ chainId: 1, homesteadBlock: 1_150_000, daoForkBlock: 1_920_000, eip150Block: 2_463_000 },
  ...{ eip155Block: 2_675_000, eip158Block: 2_675_000, byzantiumBlock: 4_370_000 },
  ...{ constantinopleBlock: 7_280_000, petersburgBlock: 7_280_000, istanbulBlock: 9_069_000 },
  ...{ muirGlacierBlock: 9_200_000, berlinBlock: 12_244_000, londonBlock: 12_965_000 },
  ...{ arrowGlacierBlock: 13_773_000, grayGlacierBlock: 15_050_000 },
  ...{ shanghaiTime: 1_681_338_455, cancunTime: 1_710_338_135, pragueTime: 1_746_612_311 },
  depositContractAddress: '0x00000000219ab540356cBB839Cbe05303d7705Fa',
};
const GENESIS = { hash: '0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3', timestamp: 0 };

interface Fork {
  readonly forkId: string;
  readonly activationTime: number;
  readonly blobSchedule: object | null;
  readonly precompiles: Readonly<Record<string, string>>;
  readonly systemContracts: Readonly<Record<string, string>>;
}
type Served = Readonly<Record<'current' | 'next' | 'last', Fork | null>>;

const at = (config: typeof MAINNET | { chainId: number }, time: number): Served =>
  servedConfig(config, GENESIS, time) as Served;

describe('eth_config by our rules', () => {
  it.each([
    [1_681_338_455, '0xdce96c2d'],
    [1_710_338_135, '0x9f3d2254'],
    [1_746_612_311, '0xc376cf8b'],
  ])('has the fork id that Ethereum has at %d', (time, id) => {
    expect(at(MAINNET, time).current).toMatchObject({ forkId: id, activationTime: time });
  });

  it('names the next fork and the last one', () => {
    const { next, last } = at(MAINNET, 1_700_000_000);
    expect(next).toMatchObject({ activationTime: 1_710_338_135, forkId: '0x9f3d2254' });
    expect(last).toMatchObject({ activationTime: 1_746_612_311, forkId: '0xc376cf8b' });
    expect(at(MAINNET, 1_800_000_000)).toMatchObject({ next: null, last: null });
  });

  it('names what a fork brings', () => {
    const { current } = at(MAINNET, 1_746_612_311);
    expect(current?.blobSchedule).toEqual({ target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 });
    expect(current?.precompiles['BLS12_G1ADD']).toBe(`0x${'0'.repeat(39)}b`);
    expect(current?.systemContracts['DEPOSIT_CONTRACT_ADDRESS']).toBe(
      '0x00000000219ab540356cbb839cbe05303d7705fa',
    );
    expect(Object.keys(current?.systemContracts ?? {})).toHaveLength(5);
    expect(at(MAINNET, 1_681_338_455).current).toMatchObject({ blobSchedule: null, systemContracts: {} });
  });

  it('has no blobs and no requests on the OP stack', () => {
    const op = { chainId: 10, bedrockBlock: 0, ecotoneTime: 5, isthmusTime: 7 };
    const { current } = at(op, 7);
    expect(current?.blobSchedule).toBeNull();
    expect(Object.keys(current?.systemContracts ?? {})).toEqual([
      'BEACON_ROOTS_ADDRESS',
      'HISTORY_STORAGE_ADDRESS',
    ]);
  });
});
