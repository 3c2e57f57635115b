import { ETHEREUM_BLOBS } from '../own-config.ts';
import type { ChainRow } from '../row.ts';
import { ISTANBUL_FROM_GENESIS } from './shared.ts';

function row(name: string, title: string, chainId: number): ChainRow {
  return {
    name,
    title,
    config: {
      chainId,
      ...ISTANBUL_FROM_GENESIS,
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
      blobSchedule: ETHEREUM_BLOBS,
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
