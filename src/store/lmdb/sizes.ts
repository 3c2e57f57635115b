import type { StoreParts } from './parts.ts';
import { freeBytes } from './write/disk-trouble.ts';

export interface StoreSizes {
  /** Of the file. */
  readonly bytes: number;
  /** What it may grow by. */
  readonly roomBytes: number;
  /** Changes since the snapshot of the oldest reader. */
  readonly oldestReader: number;
}

/** What LMDB says of itself, as far as its typings leave it out. */
interface EnvironmentStats {
  readonly pageSize: number;
  readonly lastPageNumber: number;
  readonly lastTxnId: number;
}

/** A line of the list of readers: process, thread, and the transaction whose snapshot is read, or `-`. */
const READER = /^\s*\d+ \s*[0-9a-f]+ (\d+)$/gm;

type Measured = Pick<StoreParts, 'path' | 'limit' | 'reserve'> & {
  readonly tables: Pick<StoreParts['tables'], 'root'>;
};

/** Measures an open store; takes microseconds. */
export function sizesOf({ path, tables, limit, reserve }: Measured): StoreSizes {
  const { pageSize, lastPageNumber, lastTxnId } = tables.root.getStats() as EnvironmentStats;
  const bytes = (lastPageNumber + 1) * pageSize;
  const read = Array.from(tables.root.readerList().matchAll(READER), ([, id]) => Number(id));
  return {
    bytes,
    roomBytes: Math.max(0, Math.min(freeBytes(path) - reserve, limit - bytes)),
    oldestReader: Math.max(0, lastTxnId - Math.min(lastTxnId, ...read)),
  };
}
