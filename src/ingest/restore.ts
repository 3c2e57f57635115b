import type { StateLoader } from '../executor/interface.ts';
import type { NativeExecutor } from '../executor/native-executor.ts';
import { StateUnavailableError } from '../primitives/errors.ts';
import { StoreError } from '../store/error.ts';
import type { Store } from '../store/interface.ts';

/** Name under which a store keeps the genesis file of its chain. */
export const GENESIS_META = 'genesis';

/** Loads state for the native core from a store, and refuses to answer for a block that is not canonical any more. */
export function storeLoader(store: Pick<Store, 'loadState'>): StateLoader {
  return async (keys, number, of) => {
    try {
      return await store.loadState(keys, number, of);
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'reorganised')) throw error;
      throw new StateUnavailableError(`block ${of?.number} ${of?.hash} was taken off the chain`);
    }
  };
}

/** Fills hot state with the last blocks of a store, so that they are read from memory and can be taken back. */
export async function restoreHotState(
  executor: Pick<NativeExecutor, 'open' | 'apply'>,
  store: Store,
  window: number,
): Promise<void> {
  const marks = await store.marks();
  if (marks === undefined) throw new StoreError('outOfRange', 'the store holds no block');
  const { anchor, head } = marks;
  const lowest = Math.max(anchor.number, head.number - window + 1);
  // The store may have been written with a smaller window: what it holds diffs of is what can be restored.
  let first = head.number;
  while (first > lowest && (await store.diffBytes(first)) !== undefined) first--;
  executor.open(await headerAt(store, first));
  for (let number = first + 1; number <= head.number; number++) {
    const diff = await store.diffBytes(number);
    if (diff === undefined) throw new StoreError('corrupt', `block ${number} has no state diff`);
    executor.apply(await headerAt(store, number), diff);
  }
}

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

/** The chain config inside a genesis file, which tells the native core the rules. */
export function chainConfigOf(genesis: string): string {
  const { config } = parseGenesis(genesis);
  // Without one, the native core would take the rules of Ethereum.
  if (typeof config !== 'object' || config === null || !('chainId' in config))
    throw new Error('the genesis file has no "config" object with a "chainId"');
  return JSON.stringify(config);
}

function parseGenesis(text: string): { readonly config?: unknown } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new Error('the genesis file is not JSON', { cause });
  }
  return typeof parsed === 'object' && parsed !== null ? parsed : {};
}
