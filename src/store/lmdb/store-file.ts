import { open } from 'node:fs/promises';
import { join } from 'node:path';

/** How the first page of an LMDB file begins, behind a few bytes of page header. */
const MAGIC = Buffer.from('dec0efbe', 'hex');
const MAGIC_WITHIN = 64;

/** What stands where a store keeps its data. LMDB ends the process when it opens a file that is none of its own. */
export async function storeFile(path: string): Promise<'none' | 'foreign' | 'lmdb'> {
  const file = await open(join(path, 'data.mdb')).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (file === undefined) return 'none';
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAGIC_WITHIN), 0, MAGIC_WITHIN, 0);
    // Created, and not written yet.
    if (bytesRead === 0) return 'none';
    return buffer.subarray(0, bytesRead).includes(MAGIC) ? 'lmdb' : 'foreign';
  } finally {
    await file.close();
  }
}
