import { accessSync, constants as modes, statfsSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { StoreError } from '../../error.ts';

/** A write that was cut short for want of room is an input/output error to LMDB. */
const NO_ROOM_BYTES = 2 ** 24;
const STDERR = 2;
const { ENOSPC, EDQUOT, EFBIG, EIO, EROFS, EACCES, EPERM } = constants.errno;

/**
 * Throws unless the folder can be written and the disk has more room than is kept free. LMDB would find out by itself,
 * and nothing would be lost, but it then writes half a line to stderr, into the log, and past the end of a buffer.
 */
export function expectRoom(path: string, reserveBytes: number): void {
  try {
    accessSync(path, modes.W_OK);
  } catch (error) {
    throw asStoreError(error, path);
  }
  const free = freeBytes(path);
  if (free >= reserveBytes) return;
  const [left, kept] = [free, reserveBytes].map((bytes) => Math.floor(bytes / 2 ** 20));
  throw unwritable(path, `the disk is full: ${left} MiB are free, and --disk-reserve is ${kept} MiB`);
}

/** Puts what LMDB or Node says of a disk that refuses in words; anything else stays as it is. */
export function asStoreError(error: unknown, path: string): unknown {
  const { code, errno } = error as { readonly code?: unknown; readonly errno?: number };
  const words = wordsOf(path, errno === undefined ? code : -errno);
  return words === undefined ? error : unwritable(path, words, error);
}

/** Ends the half line that LMDB writes to stderr when a write is refused, so that the next line of the log is whole. */
export function endHalfLine(error: unknown): void {
  // Of one that was cut short it says nothing.
  if ((error as { readonly code?: unknown }).code !== EIO) writeSync(STDERR, '\n');
}

function wordsOf(path: string, code: unknown): string | undefined {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return 'the disk is full';
    case EFBIG:
      return 'its file may not grow (ulimit -f)';
    case EROFS:
    case EACCES:
    case EPERM:
      return 'it is read-only, and readers too have to write their lock there';
    case EIO:
      return freeBytes(path) < NO_ROOM_BYTES ? 'the disk is full' : 'the disk fails (input/output error)';
    default:
      return undefined;
  }
}

function unwritable(path: string, words: string, cause?: unknown): StoreError {
  return new StoreError('unwritable', `${path} cannot be written: ${words}`, { cause });
}

/** Room on the disk of a folder, for those who are not its administrator. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}
