// Run by full-disk.test.ts under a limit on the size of files: what a full disk is, where nobody may mount one.
import { execFileSync } from 'node:child_process';
import type { Store } from '../../../src/store/interface.ts';
import { openLmdbStore, openWrittenStore } from '../../../src/store/lmdb/index.ts';
import { makeChain, word } from './contract-chain.ts';

const [path = '', kind] = process.argv.slice(2);
const options = { path, mapSizeBytes: 2 ** 30 };
const troubles: unknown[] = [];
const store: Store =
  kind === 'written'
    ? await openWrittenStore(options, {
        onFailure: (error) => troubles.push(String(error)),
        onTrouble: (trouble) => troubles.push(trouble ?? 'none'),
      })
    : await openLmdbStore(options);

const addresses = Array.from({ length: 500 }, (_, at) => word(at, 20));
const chain = makeChain(
  undefined,
  Array.from({ length: 60 }, (_, block) => ({
    diff: { slots: addresses.map((address) => [address, word(block), word(block + 1)] as const) },
  })),
);
let refused: unknown;
for (const outcome of chain) {
  try {
    await store.append([outcome]);
  } catch (error) {
    refused = error;
    break;
  }
}
const full = await store.marks();
// Small enough for pages that are there already.
await store.setMeta('name', 'value');
const again = await store.append(chain.slice((full?.head.number ?? 0) + 1)).catch((error: unknown) => error);
// Room again.
execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited:']);
await store.append(chain.slice((full?.head.number ?? 0) + 1));
const last = await store.marks();
const values = await store.loadState(
  Array.from(
    { length: 60 },
    (_, block) => ({ kind: 'slot', address: word(1, 20), slot: word(block) }) as const,
  ),
  59,
);
await store.close();
const { code, message } = refused as { readonly code: unknown; readonly message: string };
process.stdout.write(
  JSON.stringify({
    ...{ code, message, again: (again as { code?: unknown } | undefined)?.code, troubles },
    ...{ full: full?.head.number, last: last?.head.number },
    whole: values.every((value, block) => value !== undefined && Buffer.from(value).equals(word(block + 1))),
  }),
);
