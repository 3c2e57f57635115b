import type { ChainRow } from '../row.ts';
import { type OpForks, opConfig, SUPERCHAIN, SUPERCHAIN_SEPOLIA } from './op-stack.ts';

/** Base's own forks, in seconds. */
interface BaseForks {
  readonly azul: number;
  readonly beryl: number;
  readonly cobalt: number;
  readonly denim: number;
}

const NOT_EXECUTED = 'B20 tokens, their factory and registries (native code of the node since Beryl)';

/**
 * Where native contracts are, with `?` for any digit: the factory, two registries, and tokens of both variants. There is nothing at
 * these addresses before Beryl.
 */
const NATIVE_CONTRACTS: readonly string[] = [
  '0xb20f000000000000000000000000000000000000',
  '0x8453000000000000000000000000000000000001',
  '0x8453000000000000000000000000000000000002',
  `0xb2${'00'.repeat(9)}00${'?'.repeat(18)}`,
  `0xb2${'00'.repeat(9)}01${'?'.repeat(18)}`,
];

function row(
  chain: { readonly name: string; readonly title: string; readonly chainId: number; readonly source: string },
  forks: OpForks,
  base: BaseForks,
): ChainRow {
  const { chainId, ...about } = chain;
  return {
    ...about,
    config: {
      ...opConfig(chainId, forks, { osakaTime: base.azul }),
      base,
      nativeContracts: NATIVE_CONTRACTS,
    },
    newestFork: { name: 'Denim', since: base.denim },
    // Flashblocks ended with Denim.
    blockTimeMs: 200,
    preconfirmations: 'none',
    notExecuted: NOT_EXECUTED,
  };
}

/** Base and its test network, which left the forks of the OP stack after Jovian. */
export const BASE_CHAINS: readonly ChainRow[] = [
  row(
    {
      ...{ name: 'base', title: 'Base', chainId: 8453 },
      source:
        'alloy-op-hardforks 0.5; docs.base.org upgrades (Azul, Beryl); docs.chainstack.com base-denim-200ms-blocks; Cobalt computed from its date (2026-11-15)',
    },
    SUPERCHAIN,
    { azul: 1_779_991_200, beryl: 1_782_410_400, cobalt: 1_790_791_200, denim: 1_793_901_600 },
  ),
  row(
    {
      ...{ name: 'base-sepolia', title: 'Base Sepolia', chainId: 84_532 },
      source:
        'alloy-op-hardforks 0.5; docs.base.org upgrades; docs.chainstack.com base-denim-200ms-blocks (2026-11-15)',
    },
    SUPERCHAIN_SEPOLIA,
    { azul: 1_776_708_000, beryl: 1_781_805_600, cobalt: 1_790_186_400, denim: 1_792_605_600 },
  ),
];
