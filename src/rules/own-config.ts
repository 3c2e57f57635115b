import { type BlobSchedule, type ForkConfig, readBlobSchedule } from './eth-config.ts';
import type { ChainConfig } from './row.ts';

/** Precompiles by the fork that brought them: their last bytes. */
const PRECOMPILES: readonly (readonly [Fork, readonly number[]])[] = [
  ['frontier', [1, 2, 3, 4]],
  ['byzantium', [5, 6, 7, 8]],
  ['istanbul', [9]],
  ['cancun', [0x0a]],
  ['prague', [0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11]],
  ['osaka', [0x100]],
  ['fjord', [0x100]],
];

/** Contracts that blocks call, by the fork that brought them. The deposit contract is the chain's own affair. */
const SYSTEM_CONTRACTS: readonly (readonly [Fork, string])[] = [
  ['cancun', '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'],
  ['prague', '0x0000f90827f1c53a10cb7a02335b175320002935'],
  ['prague', '0x00000961ef480eb55e80d19ad83579a64c007002'],
  ['prague', '0x0000bbddc7ce488642fb579f8b00f3a590007251'],
];
export const DEPOSIT_CONTRACT = 'DEPOSIT_CONTRACT_ADDRESS';

/** Blob parameters by fork, as Ethereum has them; a genesis file may have its own. */
export const ETHEREUM_BLOBS: Readonly<Record<string, BlobSchedule>> = {
  cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
  prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
  osaka: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
};

type Fork = 'frontier' | 'byzantium' | 'istanbul' | 'cancun' | 'prague' | 'osaka' | 'fjord';

/** Fields that say when a fork begins; on OP-stack chains, the fork that has it inside does. */
const TIMES: Readonly<Partial<Record<Fork, readonly string[]>>> = {
  cancun: ['cancunTime', 'ecotoneTime'],
  prague: ['pragueTime', 'isthmusTime'],
  osaka: ['osakaTime'],
  fjord: ['fjordTime'],
};

/** The times at which a config changes its rules. */
export function activationTimes(config: ChainConfig): ReadonlySet<number> {
  const { base } = config;
  // Base has its own forks apart, by their names.
  const own = typeof base === 'object' && base !== null ? Object.values(base) : [];
  const named = Object.entries(config).flatMap(([name, value]) => (name.endsWith('Time') ? [value] : []));
  return new Set([0, ...[...named, ...own].map(timeOf).filter((time) => time !== undefined)]);
}

/** The name of the newest fork that is in force at a time, if it began by time. */
export function forkNameAt(config: ChainConfig, time: number): string | undefined {
  const { base } = config;
  const own = typeof base === 'object' && base !== null ? Object.entries(base) : [];
  const named = Object.entries(config).flatMap(([name, value]) =>
    name.endsWith('Time') ? [[name.slice(0, -'Time'.length), value] as const] : [],
  );
  let newest: { readonly name: string; readonly since: number } | undefined;
  // Of those that began at once, the last one named has the others inside.
  for (const [name, value] of [...named, ...own]) {
    const since = timeOf(value);
    if (since !== undefined && since <= time && since >= (newest?.since ?? 0)) newest = { name, since };
  }
  return newest && newest.name.slice(0, 1).toUpperCase() + newest.name.slice(1);
}

/** Whether it is of an OP-stack chain, which has no blobs of its own. */
export function isOpStack(config: ChainConfig): boolean {
  return 'optimism' in config || 'regolithTime' in config || 'bedrockBlock' in config;
}

/** Our rules at a time as `eth_config` would tell them. */
export function ownForkConfig(config: ChainConfig, time: number): Omit<ForkConfig, 'forkId'> {
  const isActive = (fork: Fork): boolean => {
    const fields = TIMES[fork];
    // Before there were forks by time; chains that have these begin after all others.
    if (fields === undefined) return true;
    return fields.some((field) => (timeOf(config[field]) ?? Number.POSITIVE_INFINITY) <= time);
  };
  const begun = [...activationTimes(config)].filter((at) => at <= time);
  const precompiles = PRECOMPILES.flatMap(([fork, bytes]) => (isActive(fork) ? bytes : []));
  const contracts = SYSTEM_CONTRACTS.flatMap(([fork, address]) => (isActive(fork) ? [address] : []));
  return {
    activationTime: Math.max(...begun),
    blobSchedule: blobsAt(config, time),
    precompiles: new Set(precompiles.map((last) => `0x${last.toString(16).padStart(40, '0')}`)),
    systemContracts: new Map(contracts.map((address) => [address, address])),
  };
}

/** Blob parameters in force at a time, by our rules. */
function blobsAt(config: ChainConfig, time: number): BlobSchedule | undefined {
  if (isOpStack(config)) return undefined;
  const schedule = (config['blobSchedule'] ?? {}) as Readonly<Record<string, unknown>>;
  const names = ['cancun', 'prague', 'osaka', ...BPO_NAMES];
  const begun = names.flatMap((name) => {
    const at = timeOf(config[`${name}Time`]);
    const own = schedule[name];
    const blobs = own === undefined ? ETHEREUM_BLOBS[name] : readBlobSchedule(own);
    return at === undefined || at > time || blobs === undefined ? [] : [{ at, blobs }];
  });
  return begun.toSorted((a, b) => a.at - b.at).at(-1)?.blobs;
}

/** Forks that change nothing but blob parameters, by the names that a genesis file has for them. */
const BPO_NAMES = ['bpo1', 'bpo2', 'bpo3', 'bpo4', 'bpo5'] as const;

/** A change of blob parameters. */
export interface BlobChange {
  readonly activationTime: number;
  readonly blobSchedule: BlobSchedule;
}

/** The config with a further change of blob parameters; undefined when there is no name left for it. */
export function withBlobChange(config: ChainConfig, change: BlobChange): ChainConfig | undefined {
  const schedule = (config['blobSchedule'] ?? {}) as Readonly<Record<string, unknown>>;
  const known = BPO_NAMES.flatMap((name) => {
    const at = timeOf(config[`${name}Time`]);
    return at === undefined || at === change.activationTime ? [] : [{ at, blobs: schedule[name] }];
  });
  const all = [...known, { at: change.activationTime, blobs: change.blobSchedule }];
  if (all.length > BPO_NAMES.length) return undefined;
  const named = all.toSorted((a, b) => a.at - b.at).map((one, index) => ({ ...one, name: BPO_NAMES[index] }));
  const rest = Object.entries(config).filter(([name]) => !BPO_NAMES.some((bpo) => name === `${bpo}Time`));
  return {
    chainId: config.chainId,
    ...Object.fromEntries(rest),
    ...Object.fromEntries(named.map(({ name, at }) => [`${name}Time`, at])),
    blobSchedule: { ...schedule, ...Object.fromEntries(named.map(({ name, blobs }) => [name, blobs])) },
  };
}

/** A time or number as genesis files write it. */
export function timeOf(value: unknown): number | undefined {
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN;
  return Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}
