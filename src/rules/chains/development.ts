import type { ChainRow } from '../row.ts';

function row(name: string, title: string, chainId: number): ChainRow {
  return {
    name,
    title,
    config: {
      chainId,
      homesteadBlock: 0,
      eip150Block: 0,
      eip155Block: 0,
      eip158Block: 0,
      byzantiumBlock: 0,
      constantinopleBlock: 0,
      petersburgBlock: 0,
      istanbulBlock: 0,
      muirGlacierBlock: 0,
      berlinBlock: 0,
      londonBlock: 0,
      arrowGlacierBlock: 0,
      grayGlacierBlock: 0,
      terminalTotalDifficulty: 0,
      shanghaiTime: 0,
      cancunTime: 0,
      pragueTime: 0,
      osakaTime: 0,
      depositContractAddress: '0x0000000000000000000000000000000000000000',
      blobSchedule: {
        cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
        prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
        osaka: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
      },
    },
    newestFork: { name: 'Osaka', since: 0 },
    blockTimeMs: 1_000,
    preconfirmations: 'none',
    source: 'geth 1.16.7 --dev (AllDevChainProtocolChanges), anvil 1.7.1 without options',
  };
}

/** Development nodes started without options: every fork up to Osaka from the first block on. */
export const DEVELOPMENT_CHAINS: readonly ChainRow[] = [
  row('geth-dev', 'geth --dev', 1_337),
  row('anvil', 'anvil', 31_337),
];
