import { type EthConfig, type ForkConfig, forksOf } from './eth-config.ts';
import {
  activationTimes,
  type BlobChange,
  DEPOSIT_CONTRACT,
  isOpStack,
  ownForkConfig,
} from './own-config.ts';
import type { ChainConfig } from './row.ts';

/** What an upstream's rules have that ours lack. */
export type ConfigDifference =
  /** A fork that begins at a time at which nothing changes by our rules. */
  | { readonly kind: 'unknown fork'; readonly activationTime: number; readonly forkId: string | undefined }
  /** Nothing but blob parameters. */
  | ({ readonly kind: 'blobs'; readonly forkId: string | undefined } & BlobChange)
  /** A fork that we know by its time, with other precompiles or system contracts. */
  | { readonly kind: 'contents'; readonly activationTime: number; readonly forkId: string | undefined };

/** How the rules that an upstream tells differ from ours, by time. */
export function compareConfig(ours: ChainConfig, theirs: EthConfig): readonly ConfigDifference[] {
  const times = activationTimes(ours);
  return forksOf(theirs).flatMap((fork): readonly ConfigDifference[] => {
    const { activationTime, forkId, blobSchedule } = fork;
    const own = ownForkConfig(ours, activationTime);
    const isSame = hasSameContracts(fork, own);
    const isOtherBlobs =
      !isOpStack(ours) && blobSchedule !== undefined && !isSameBlobs(blobSchedule, own.blobSchedule);
    if (isSame && isOtherBlobs) return [{ kind: 'blobs', activationTime, forkId, blobSchedule }];
    if (!times.has(activationTime)) return [{ kind: 'unknown fork', activationTime, forkId }];
    // OP-stack clients differ in which contracts they count as the system's.
    return isSame || isOpStack(ours) ? [] : [{ kind: 'contents', activationTime, forkId }];
  });
}

/** Whether an upstream's answer leaves no room for a fork at a time: it would have had to name it. */
export function deniesFork(theirs: EthConfig, activationTime: number): boolean {
  const forks = forksOf(theirs);
  if (forks.some((fork) => fork.activationTime === activationTime)) return false;
  const { current, next, last } = theirs;
  // What is past, and what lies between the next one and the last, it does not tell.
  if (activationTime < current.activationTime) return false;
  if (next === undefined || activationTime < next.activationTime) return true;
  return activationTime > (last ?? next).activationTime;
}

/**
 * The contracts that a chain's blocks write outside of their transactions, as an answer has them; none of the OP stack, whose clients
 * differ in which they count. The one that takes deposits is written by transactions.
 */
export function systemContractsOf(ours: ChainConfig, theirs: EthConfig): readonly string[] {
  return isOpStack(ours) ? [] : forksOf(theirs).flatMap((fork) => [...contractsOf(fork)]);
}

const contractsOf = ({ systemContracts }: Contracts): Set<string> =>
  new Set([...systemContracts].flatMap(([name, address]) => (name === DEPOSIT_CONTRACT ? [] : [address])));

type Contracts = Pick<ForkConfig, 'precompiles' | 'systemContracts'>;

function hasSameContracts(theirs: Contracts, ours: Contracts): boolean {
  return isSameSet(theirs.precompiles, ours.precompiles) && isSameSet(contractsOf(theirs), contractsOf(ours));
}

function isSameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((one) => b.has(one));
}

function isSameBlobs(a: BlobChange['blobSchedule'], b: ForkConfig['blobSchedule']): boolean {
  return a.target === b?.target && a.max === b.max && a.baseFeeUpdateFraction === b.baseFeeUpdateFraction;
}
