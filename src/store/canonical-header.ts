import { StoreError } from './error.ts';
import type { Store } from './interface.ts';

/** The header of a canonical block that must be there. */
export async function headerAt(
  store: Pick<Store, 'canonicalHash' | 'header'>,
  number: number,
): Promise<Uint8Array> {
  const hash = await store.canonicalHash(number);
  const header = hash === undefined ? undefined : await store.header({ number, hash });
  if (header === undefined) throw new StoreError('corrupt', `block ${number} is missing`);
  return header;
}
