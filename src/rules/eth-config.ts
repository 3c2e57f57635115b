/** Blob parameters of a fork, as EIP-7840 writes them. */
export interface BlobSchedule {
  readonly target: number;
  readonly max: number;
  readonly baseFeeUpdateFraction: number;
}

/** The rules of a chain from a time on, as `eth_config` tells them (EIP-7910). */
export interface ForkConfig {
  readonly activationTime: number;
  readonly blobSchedule: BlobSchedule | undefined;
  readonly forkId: string | undefined;
  /** Addresses, in lower case. */
  readonly precompiles: ReadonlySet<string>;
  /** Addresses by name, in lower case. */
  readonly systemContracts: ReadonlyMap<string, string>;
}

/** An answer to `eth_config`: the fork in force, the next one, and the last one that is scheduled. */
export interface EthConfig {
  readonly current: ForkConfig;
  readonly next: ForkConfig | undefined;
  readonly last: ForkConfig | undefined;
}

/** Reads an answer to `eth_config`; throws `TypeError` when it is none. */
export function parseEthConfig(value: unknown): EthConfig {
  const { current, next, last } = fieldsOf(value, 'eth_config');
  return { current: forkOf(current, 'current'), next: optional(next, 'next'), last: optional(last, 'last') };
}

/** The forks that an answer names, in their order and each once. */
export function forksOf({ current, next, last }: EthConfig): readonly ForkConfig[] {
  const forks = [current, next, last].filter((fork) => fork !== undefined);
  return forks.filter(
    ({ activationTime }, index) =>
      forks.findIndex((fork) => fork.activationTime === activationTime) === index,
  );
}

function optional(value: unknown, where: string): ForkConfig | undefined {
  return value === null || value === undefined ? undefined : forkOf(value, where);
}

function forkOf(value: unknown, where: string): ForkConfig {
  const fields = fieldsOf(value, where);
  const { forkId, blobSchedule } = fields;
  return {
    activationTime: numberOf(fields['activationTime'], `${where}.activationTime`),
    blobSchedule:
      blobSchedule === null || blobSchedule === undefined ? undefined : readBlobSchedule(blobSchedule),
    forkId: typeof forkId === 'string' && /^0x[0-9a-f]{1,8}$/i.test(forkId) ? forkId : undefined,
    precompiles: new Set(addressesOf(fields['precompiles']).map(([, address]) => address)),
    systemContracts: new Map(addressesOf(fields['systemContracts'])),
  };
}

/** Reads blob parameters, of an upstream or of a genesis file. */
export function readBlobSchedule(value: unknown): BlobSchedule {
  const fields = fieldsOf(value, 'blobSchedule');
  const [target, max, baseFeeUpdateFraction] = ['target', 'max', 'baseFeeUpdateFraction'].map((name) =>
    numberOf(fields[name], `blobSchedule.${name}`),
  );
  return { target: target ?? 0, max: max ?? 0, baseFeeUpdateFraction: baseFeeUpdateFraction ?? 0 };
}

/** Names and addresses; nobody has this many. */
const MAX_ADDRESSES = 1_024;

function addressesOf(value: unknown): (readonly [string, string])[] {
  const entries = Object.entries(value === undefined || value === null ? {} : fieldsOf(value, 'addresses'));
  if (entries.length > MAX_ADDRESSES) throw new TypeError('eth_config: too many addresses');
  return entries.map(([name, address]) => {
    if (typeof address !== 'string' || !/^0x[0-9a-f]{40}$/i.test(address)) {
      throw new TypeError('eth_config: not an address');
    }
    return [name.slice(0, 64), address.toLowerCase()];
  });
}

function fieldsOf(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new TypeError(`${where}: not an object`);
}

/** A number, or a quantity in hex: both are in use. */
function numberOf(value: unknown, where: string): number {
  const isText = typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value);
  const number = isText || typeof value === 'number' ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new TypeError(`${where}: not a number`);
}
