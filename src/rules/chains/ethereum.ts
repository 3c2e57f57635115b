import { ETHEREUM_BLOBS } from '../own-config.ts';
import type { ChainRow } from '../row.ts';
import { ISTANBUL_FROM_GENESIS } from './shared.ts';

const BLOBS = {
  ...ETHEREUM_BLOBS,
  bpo1: { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193 },
  bpo2: { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671 },
};

/** Ethereum and its test network. */
export const ETHEREUM_CHAINS: readonly ChainRow[] = [
  {
    name: 'ethereum',
    title: 'Ethereum',
    config: {
      chainId: 1,
      homesteadBlock: 1_150_000,
      daoForkBlock: 1_920_000,
      daoForkSupport: true,
      eip150Block: 2_463_000,
      eip155Block: 2_675_000,
      eip158Block: 2_675_000,
      byzantiumBlock: 4_370_000,
      constantinopleBlock: 7_280_000,
      petersburgBlock: 7_280_000,
      istanbulBlock: 9_069_000,
      muirGlacierBlock: 9_200_000,
      berlinBlock: 12_244_000,
      londonBlock: 12_965_000,
      arrowGlacierBlock: 13_773_000,
      grayGlacierBlock: 15_050_000,
      // The first block after the merge, of 15 September 2022.
      mergeNetsplitBlock: 15_537_394,
      shanghaiTime: 1_681_338_455,
      cancunTime: 1_710_338_135,
      pragueTime: 1_746_612_311,
      osakaTime: 1_764_798_551,
      bpo1Time: 1_765_290_071,
      bpo2Time: 1_767_747_671,
      depositContractAddress: '0x00000000219ab540356cbb839cbe05303d7705fa',
      blobSchedule: BLOBS,
    },
    newestFork: { name: 'BPO2', since: 1_767_747_671 },
    blockTimeMs: 12_000,
    preconfirmations: 'none',
    source: 'alloy-hardforks 0.4.11, ethereum/mainnet.rs; EIP-7892, EIP-7691, EIP-6110 (2026-11-16)',
  },
  {
    name: 'sepolia',
    title: 'Sepolia',
    config: {
      chainId: 11_155_111,
      ...ISTANBUL_FROM_GENESIS,
      berlinBlock: 0,
      londonBlock: 0,
      // Where its merge was; `mergeNetsplitBlock` of geth's config (1,735,371) is a later fork id without rules.
      mergeNetsplitBlock: 1_450_409,
      shanghaiTime: 1_677_557_088,
      cancunTime: 1_706_655_072,
      pragueTime: 1_741_159_776,
      osakaTime: 1_760_427_360,
      bpo1Time: 1_761_017_184,
      bpo2Time: 1_761_607_008,
      amsterdamTime: 1_791_294_816,
      depositContractAddress: '0x7f02c3e3c98b133055b8b348b2ac625669ed295d',
      blobSchedule: BLOBS,
    },
    newestFork: { name: 'BPO2', since: 1_761_607_008 },
    unknownFork: { name: 'Amsterdam', since: 1_791_294_816 },
    blockTimeMs: 12_000,
    preconfirmations: 'none',
    notExecuted: 'blocks from Amsterdam on',
    source: 'alloy-hardforks 0.4.11, ethereum/sepolia.rs (2026-11-16)',
  },
];
