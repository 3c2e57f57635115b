import type { BlockRef } from '../chain/outcome.ts';
import type { StateKey } from '../chain/state-key.ts';
import { keccak256 } from '../executor/native-executor.ts';
import type { ChainSource, StateRead } from '../source/interface.ts';
import { type StoredRead, toStored } from '../source/stored-form.ts';

/** A value in its stored form, the code that came with it, and who said so. */
export interface Learnt extends StoredRead {
  readonly upstream: string | undefined;
}

/** Reads the values of keys after a block from upstreams, in order; `prefer` is asked first. */
export type StateReader = (
  keys: readonly StateKey[],
  at: BlockRef,
  prefer: string | undefined,
) => Promise<readonly Learnt[]>;

/** Takes upstreams at their word. */
export function plainReader(source: Pick<ChainSource, 'state'>): StateReader {
  return async (keys, at, prefer) => {
    const reads = await source.state(keys, at.hash, preferring(prefer));
    return reads.map(toLearnt);
  };
}

/** What an upstream said, as it would be stored. */
export function toLearnt(read: StateRead): Learnt {
  return { ...toStored(read, keccak256), upstream: read.kind === 'unknown' ? undefined : read.upstream };
}

export function preferring(prefer: string | undefined): { readonly prefer?: string } {
  return prefer === undefined ? {} : { prefer };
}
