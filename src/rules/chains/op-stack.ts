import type { ChainRow, PreconfirmationKind } from '../row.ts';
import { ISTANBUL_FROM_GENESIS } from './shared.ts';

/** When the forks of an OP-stack chain begin: seconds, and blocks for the first. */
export interface OpForks {
  readonly bedrockBlock: number;
  readonly canyonTime: number;
  readonly ecotoneTime: number;
  readonly fjordTime: number;
  readonly graniteTime: number;
  readonly holoceneTime: number;
  readonly isthmusTime: number;
  readonly jovianTime: number;
  readonly karstTime?: number;
}

/** The config of an OP-stack chain: its own forks, and those of Ethereum that they bring. */
export function opConfig(
  chainId: number,
  forks: OpForks,
  { osakaTime = forks.karstTime, berlinBlock = 0 } = {},
): ChainRow['config'] {
  return {
    chainId,
    optimism: {},
    ...ISTANBUL_FROM_GENESIS,
    berlinBlock,
    londonBlock: forks.bedrockBlock,
    mergeNetsplitBlock: forks.bedrockBlock,
    regolithTime: 0,
    ...forks,
    shanghaiTime: forks.canyonTime,
    cancunTime: forks.ecotoneTime,
    pragueTime: forks.isthmusTime,
    ...(osakaTime === undefined ? {} : { osakaTime }),
  };
}

/** The forks that most chains of the superchain, and Base, had at the same times. */
export const SUPERCHAIN: OpForks = {
  bedrockBlock: 0,
  canyonTime: 1_704_992_401,
  ecotoneTime: 1_710_374_401,
  fjordTime: 1_720_627_201,
  graniteTime: 1_726_070_401,
  holoceneTime: 1_736_445_601,
  isthmusTime: 1_746_806_401,
  jovianTime: 1_764_691_201,
};
/** The same of their test networks. */
export const SUPERCHAIN_SEPOLIA: OpForks = {
  bedrockBlock: 0,
  canyonTime: 1_699_981_200,
  ecotoneTime: 1_708_534_800,
  fjordTime: 1_716_998_400,
  graniteTime: 1_723_478_400,
  holoceneTime: 1_732_633_200,
  isthmusTime: 1_744_905_600,
  jovianTime: 1_763_568_001,
};
/** Karst, where it came to all on the same day. */
const KARST = 1_783_526_401;
/** Of chains that began with Granite. */
const FROM_GRANITE = { ...SUPERCHAIN, canyonTime: 0, ecotoneTime: 0, fjordTime: 0, graniteTime: 0 };

const REGISTRY = 'superchain-registry, superchain/configs (2026-08-04)';

interface Member {
  readonly name: string;
  readonly title: string;
  readonly chainId: number;
  readonly forks: OpForks & { readonly karstTime: number };
  readonly berlinBlock?: number;
  readonly blockTimeMs?: number;
  readonly preconfirmations?: PreconfirmationKind;
  readonly source?: string;
}

function row({ name, title, chainId, forks, ...more }: Member): ChainRow {
  const { berlinBlock = 0, blockTimeMs = 2_000, preconfirmations = 'none', source = REGISTRY } = more;
  return {
    ...{ name, title, blockTimeMs, preconfirmations, source },
    config: opConfig(chainId, forks, { berlinBlock }),
    newestFork: { name: 'Karst', since: forks.karstTime },
  };
}

/** Chains of the OP stack that take its forks as they come. */
export const OP_CHAINS: readonly ChainRow[] = [
  row({
    ...{ name: 'op-mainnet', title: 'OP Mainnet', chainId: 10 },
    forks: { ...SUPERCHAIN, karstTime: KARST, bedrockBlock: 105_235_063 },
    berlinBlock: 3_950_000,
    preconfirmations: 'subblocks',
    source: `${REGISTRY}; alloy-op-hardforks 0.5 (Berlin); op-node v1.20.0 (subblocks since 2026-08-31)`,
  }),
  row({
    ...{ name: 'op-sepolia', title: 'OP Sepolia', chainId: 11_155_420 },
    forks: { ...SUPERCHAIN_SEPOLIA, karstTime: 1_781_712_001 },
    preconfirmations: 'subblocks',
    source: `${REGISTRY}; op-node v1.19.6 (subblocks since 2026-08-17)`,
  }),
  row({
    ...{ name: 'unichain', title: 'Unichain', chainId: 130, blockTimeMs: 1_000 },
    forks: { ...FROM_GRANITE, karstTime: KARST },
    preconfirmations: 'flashblocks',
  }),
  row({
    ...{ name: 'ink', title: 'Ink', chainId: 57_073, blockTimeMs: 1_000 },
    forks: { ...FROM_GRANITE, holoceneTime: 1_742_396_400, karstTime: KARST },
  }),
  row({
    ...{ name: 'soneium', title: 'Soneium', chainId: 1_868 },
    forks: { ...FROM_GRANITE, holoceneTime: 1_738_573_200, karstTime: KARST },
  }),
  row({
    ...{ name: 'mode', title: 'Mode', chainId: 34_443 },
    forks: { ...SUPERCHAIN, karstTime: KARST },
  }),
  row({
    ...{ name: 'zora', title: 'Zora', chainId: 7_777_777 },
    forks: { ...SUPERCHAIN, karstTime: KARST },
  }),
  row({
    ...{ name: 'world-chain', title: 'World Chain', chainId: 480 },
    forks: {
      bedrockBlock: 0,
      canyonTime: 0,
      ecotoneTime: 0,
      fjordTime: 1_721_826_000,
      graniteTime: 1_727_780_400,
      holoceneTime: 1_738_238_400,
      isthmusTime: 1_764_072_000,
      jovianTime: 1_777_593_600,
      karstTime: 1_789_992_000,
    },
    preconfirmations: 'peers only',
    source: `${REGISTRY}; op-node v1.20.0 (Karst)`,
  }),
];
