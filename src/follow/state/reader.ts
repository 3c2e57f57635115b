import type { BlockRef } from '../../chain/outcome.ts';
import type { StateKey } from '../../chain/state-key.ts';
import { keccak256 } from '../../executor/native-executor.ts';
import type { ChainSource, ReadOptions, StateRead } from '../../source/interface.ts';
import { type StoredRead, toStored } from '../../source/reads/stored-form.ts';

/** A value in its stored form, the code that came with it, and who said so. */
export interface UpstreamValue extends StoredRead {
  readonly upstream: string | undefined;
}

/** Reads the values of keys after a block from upstreams, in order. */
export type StateReader = (
  keys: readonly StateKey[],
  at: BlockRef,
  options?: ReadOptions,
) => Promise<readonly UpstreamValue[]>;

/** Takes upstreams at their word. */
export function plainReader(source: Pick<ChainSource, 'state'>): StateReader {
  return async (keys, at, options) => {
    const reads = await source.state(keys, at.hash, options);
    return reads.map(toUpstreamValue);
  };
}

/** What an upstream said, as it would be stored. */
export function toUpstreamValue(read: StateRead): UpstreamValue {
  return { ...toStored(read, keccak256), upstream: read.kind === 'unknown' ? undefined : read.upstream };
}
