import { crc32 } from 'node:zlib';
import { activationTimes, isOpStack, ownForkConfig, timeOf } from './own-config.ts';
import type { ChainConfig } from './row.ts';

/** Names of precompiles by their last bytes, as EIP-7910 has them. */
const PRECOMPILE_NAMES: ReadonlyMap<number, string> = new Map([
  [0x01, 'ECREC'],
  [0x02, 'SHA256'],
  [0x03, 'RIPEMD160'],
  [0x04, 'ID'],
  [0x05, 'MODEXP'],
  [0x06, 'BN254_ADD'],
  [0x07, 'BN254_MUL'],
  [0x08, 'BN254_PAIRING'],
  [0x09, 'BLAKE2F'],
  [0x0a, 'KZG_POINT_EVALUATION'],
  [0x0b, 'BLS12_G1ADD'],
  [0x0c, 'BLS12_G1MSM'],
  [0x0d, 'BLS12_G2ADD'],
  [0x0e, 'BLS12_G2MSM'],
  [0x0f, 'BLS12_PAIRING_CHECK'],
  [0x10, 'BLS12_MAP_FP_TO_G1'],
  [0x11, 'BLS12_MAP_FP2_TO_G2'],
  [0x100, 'P256VERIFY'],
]);

/** Names of system contracts; those of requests are not on OP-stack chains. */
const CONTRACT_NAMES: ReadonlyMap<string, string> = new Map([
  ['0x000f3df6d732807ef1319fb7b8bb8522d0beac02', 'BEACON_ROOTS_ADDRESS'],
  ['0x0000f90827f1c53a10cb7a02335b175320002935', 'HISTORY_STORAGE_ADDRESS'],
  ['0x00000961ef480eb55e80d19ad83579a64c007002', 'WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS'],
  ['0x0000bbddc7ce488642fb579f8b00f3a590007251', 'CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS'],
]);
const OF_REQUESTS = /REQUEST/;
const NO_ADDRESS = `0x${'0'.repeat(40)}`;

/** The block that a chain began with. */
export interface GenesisFacts {
  readonly hash: string;
  readonly timestamp: number;
}

/** What a chain answers to `eth_config` at a time, by our rules: the fork in force, the next and the last one. */
export function servedConfig(config: ChainConfig, genesis: GenesisFacts, time: number): object {
  const later = [...activationTimes(config)].filter((at) => at > time).toSorted((a, b) => a - b);
  const at = (when: number | undefined): object | null =>
    when === undefined ? null : forkAt(config, genesis, when);
  return { current: at(time), next: at(later[0]), last: at(later.at(-1)) };
}

function forkAt(config: ChainConfig, genesis: GenesisFacts, time: number): object {
  const { activationTime, blobSchedule, precompiles, systemContracts } = ownForkConfig(config, time);
  const names = [...precompiles].map((address) => [
    PRECOMPILE_NAMES.get(Number(address)) ?? address,
    address,
  ]);
  const contracts = [...systemContracts.keys()].map((address) => [
    CONTRACT_NAMES.get(address) ?? address,
    address,
  ]);
  const isOp = isOpStack(config);
  const deposit = (config['depositContractAddress'] as string | undefined) ?? NO_ADDRESS;
  const hasRequests = contracts.some(([name]) => OF_REQUESTS.test(name ?? '')) && !isOp;
  const own = contracts.filter(([name]) => !(isOp && OF_REQUESTS.test(name ?? '')));
  return {
    activationTime,
    blobSchedule: blobSchedule ?? null,
    chainId: `0x${BigInt(config.chainId).toString(16)}`,
    forkId: forkId(config, genesis, time),
    precompiles: sorted(names),
    systemContracts: sorted([...own, ...(hasRequests ? [['DEPOSIT_CONTRACT_ADDRESS', deposit]] : [])]),
  };
}

function sorted(entries: readonly (readonly (string | undefined)[])[]): object {
  const named = entries.map(([name = '', address = '']) => [name, address.toLowerCase()] as const);
  return Object.fromEntries(named.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** What EIP-2124 makes of a chain's genesis and its forks so far. */
function forkId(config: ChainConfig, genesis: GenesisFacts, time: number): string {
  const forks = (ending: string): readonly number[] =>
    Object.entries(config).flatMap(([name, value]) => (name.endsWith(ending) ? [timeOf(value) ?? 0] : []));
  const blocks = ascending(forks('Block')).filter((at) => at > 0);
  const times = ascending(forks('Time')).filter((at) => at > genesis.timestamp && at <= time);
  const bytes = Buffer.alloc(8 * (blocks.length + times.length));
  [...blocks, ...times].forEach((at, index) => bytes.writeBigUInt64BE(BigInt(at), 8 * index));
  const sum = crc32(Buffer.concat([Buffer.from(genesis.hash.slice(2), 'hex'), bytes]));
  return `0x${sum.toString(16).padStart(8, '0')}`;
}

function ascending(numbers: readonly number[]): readonly number[] {
  return [...new Set(numbers)].toSorted((a, b) => a - b);
}
