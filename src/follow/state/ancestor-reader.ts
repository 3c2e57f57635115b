import type { BlockRef } from '../../chain/outcome.ts';
import { InvalidBlockError } from '../../executor/errors.ts';
import { headerHash } from '../../executor/native-executor.ts';
import { fromHex, type Hex } from '../../primitives/hex.ts';
import { parseHash } from '../../primitives/parse.ts';
import type { ChainSource, JsonObject, ReadOptions } from '../../source/interface.ts';
import { headerAt } from '../../store/canonical-header.ts';
import type { Store } from '../../store/interface.ts';
import { askUntilValid } from '../blocks/ask-until-valid.ts';
import { parentHashOf } from '../blocks/header-links.ts';
import type { StateReader, UpstreamValue } from './reader.ts';

export interface AncestorModules {
  readonly source: Pick<ChainSource, 'ancestors' | 'report'>;
  readonly store: Pick<Store, 'canonicalHash' | 'header'>;
}

/**
 * Adds to a reader the hashes that BLOCKHASH sees below the copy: by headers that are hashed here, each of which names
 * the one below, down from a block that is held.
 */
export function withAncestors(read: StateReader, modules: AncestorModules): StateReader {
  return async (keys, at, options) => {
    const numbers = keys.filter((key) => key.kind === 'blockHash').map(({ number }) => number);
    if (numbers.length === 0) return read(keys, at, options);
    const others = keys.filter(({ kind }) => kind !== 'blockHash');
    const [hashes, fetched] = await Promise.all([
      readHashes(modules, at, Math.min(...numbers), options),
      read(others, at, options),
    ]);
    const rest = fetched.values();
    const unknown: UpstreamValue = { value: undefined, upstream: undefined };
    return keys.map((key) =>
      key.kind === 'blockHash' ? (hashes.get(key.number) ?? unknown) : (rest.next().value ?? unknown),
    );
  };
}

async function readHashes(
  { source, store }: AncestorModules,
  at: BlockRef,
  from: number,
  options: ReadOptions | undefined,
): Promise<ReadonlyMap<number, UpstreamValue>> {
  const top = { number: at.number - 1, hash: parentHashOf(await headerAt(store, at.number)) };
  return askUntilValid(source, {
    item: at.hash,
    ask: () => source.ancestors(at.hash, from, options),
    read: ({ value, upstream }) => linked(value, top, upstream),
  });
}

/** The hashes of headers that lead down from `top`. */
function linked(
  headers: readonly JsonObject[],
  top: BlockRef,
  upstream: string,
): ReadonlyMap<number, UpstreamValue> {
  const hashes = new Map<number, UpstreamValue>();
  let { number, hash }: { number: number; hash: Hex } = top;
  for (const header of headers.toReversed()) {
    if (headerHash(header) !== hash) throw new InvalidBlockError(`header: block ${number} is not ${hash}`);
    hashes.set(number, { value: fromHex(hash), upstream });
    hash = parseHash(header['parentHash'], 'parent hash');
    number--;
  }
  return hashes;
}
